/**
 * Agent actions: what the machine of an agent asks the kernel for. issue.ts reads them.
 */
import type { Json } from "../../protocol/json.ts";
import type { Message } from "../../protocol/model.ts";
import type { StartedCall } from "./reply.ts";
import type { StartedRun } from "../workflow/step.ts";

/**
 * The kernel's own actions, read by name: `setup` cannot type an action that names its sibling. Calls are not
 * XState's children: those stay in the snapshot when they are done, and their event types in XState's caches.
 */
export const say = (message: Message): never => ({ type: "sagamesh.say", params: { message } }) as never;
export const start = (
  { call, src, input }: Extract<StartedCall, { type: "actor" }>,
  dependsOn: readonly string[] | undefined,
): never =>
  ({
    type: "sagamesh.start",
    params: { id: call, src, input, ...(dependsOn === undefined ? {} : { dependsOn }) },
  }) as never;
/** A node's run, or what a workflow asks for besides. */
export const startRun = ({ call, ...run }: StartedRun): never =>
  ({ type: "sagamesh.start", params: { id: call, ...run } }) as never;
export const stop = (id: string): never => ({ type: "sagamesh.stop", params: { id } }) as never;
export const forward = (id: string, name: string, data: Json): never =>
  ({ type: "sagamesh.forward", params: { id, name, data } }) as never;
