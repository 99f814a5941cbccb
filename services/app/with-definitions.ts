/**
 * With definitions: an application that can also fold what another defines, as a recording that was imported holds its own
 * agent. It asks and prices with its own models.
 */
import type { App } from "./app.ts";

/** The first application's models and prices, for the definitions and tools of both; its own come first. */
export const withDefinitionsOf = (app: App, other: App): App => ({
  ...app,
  definitions: [...app.definitions, ...other.definitions],
  definition: (ref) => app.definition(ref) ?? other.definition(ref),
  tools: new Map([...other.tools, ...app.tools]),
});
