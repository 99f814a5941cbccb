/**
 * What an application imports as `sagamesh/sandbox`.
 */
export { runCode, type RunCodeOptions } from "./run-code.ts";
