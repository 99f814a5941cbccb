/**
 * With schedules: an application as a host serves it, which is the application and the definitions that are built in.
 *
 * JB1 A host that has no schedule loads nothing of what it would do for one: the client alone takes megabytes.
 */
import { contractDigest } from "../../actors/contract/contract-digest.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { AnyBody, Tool } from "../../actors/contract/tool.ts";
import { builtIn } from "../../actors/schedule/define.ts";
import type { App } from "../app/app.ts";
import type { Bound, SchedulesDeps } from "./bodies.ts";

/** The application, and beside it schedules. Workers have nothing to do for them. */
export const withSchedules = (app: App, deps: SchedulesDeps): App =>
  withBuiltIn(
    app,
    builtIn.flatMap(({ tools }) => [...tools.values()].map((tool): Bound => [tool, loaded(tool, deps)])),
  );

/** JB1 */
const loaded = (tool: Tool, deps: SchedulesDeps): AnyBody => ({
  perform: async (input, context) => {
    const { bodyOf } = await import("./bodies.ts");
    return bodyOf(tool, deps).perform(input, context);
  },
});

/** The same with these bodies. */
export function withBuiltIn(app: App, bound: readonly Bound[]): App {
  const own: readonly Definition[] = builtIn;
  return {
    ...app,
    startable: [...app.startable, ...own],
    definitions: [...app.definitions, ...own],
    tools: new Map([...app.tools, ...bound.map(([tool]) => [contractDigest(tool), tool] as const)]),
    bodies: new Map([...app.bodies, ...bound.map(([tool, body]) => [contractDigest(tool), body] as const)]),
    latest: (name, version) =>
      app.latest(name, version) ??
      own.find((one) => one.name === name && (version === undefined || one.version === version)),
  };
}
