/**
 * Every way in which a value comes to a saga, as a table: a new door is a row.
 *
 * One application on a mesh in memory with a desk that has one of everything: a signal, a question, a call that people must
 * approve, a call that the outside answers, tools of the classes that may not be repeated and that may, a sub-agent, and a
 * saga beside it. A row says what the desk's model does first, and how the value is given then.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { contentTypes, encodeJson, encodeMsgpack } from "../../protocol/codec.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { ModelAnswer } from "../../protocol/model.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { defineApp } from "../../services/app/app.ts";
import { createDoor } from "../../services/gateway/door.ts";
import { createKeys } from "../../services/gateway/keys.ts";
import { createLinks } from "../../services/gateway/links.ts";
import type { MemoryMesh, MemoryProcess } from "../../services/memory/mesh.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { openTestMesh, type TestMesh } from "../../services/testing/test-mesh.ts";

export const desk = "desk-1" as SagaId;
const keys = createKeys(["a secret of the gateway with 32 characters"]);

type Says = Omit<ModelAnswer, "model">;
const call = (tool: string, input: unknown): Says => ({ calls: [{ tool, input: input as never }] });
const waiting = call("wait", { signals: ["note"] });

/** What every row is given. */
export interface AtDoor {
  readonly t: TestMesh;
  readonly mesh: MemoryMesh;
  /** A process outside, that speaks to the server itself. */
  readonly outside: MemoryProcess;
}

export interface ValueDoor {
  readonly name: string;
  /** What the desk's model says, decision by decision, where it says the value or leads to the door. */
  readonly says?: (value: unknown) => readonly Says[];
  /** What the desk's tools give. */
  readonly gives?: (value: unknown) => unknown;
  /** Gives it, once the desk waits. Throws what the door throws. */
  readonly give?: (at: AtDoor, value: unknown) => Promise<unknown>;
  /** There is a saga beside it to write to. */
  readonly sends?: true;
  /** The desk is not started for it: the row does. */
  readonly starts?: true;
}

/** Bytes as another program may send them; undefined for what no program can write. */
function bytesOf(value: unknown, type: "json" | "msgpack"): Uint8Array | undefined {
  try {
    return type === "json" ? encodeJson(value) : encodeMsgpack(value);
  } catch {
    return undefined;
  }
}

const raw =
  (
    subject: (intent: string) => string,
    body: (value: unknown) => unknown,
    type: "json" | "msgpack" = "json",
  ) =>
  async ({ t, outside, mesh }: AtDoor, value: unknown): Promise<void> => {
    const data = bytesOf(body(value), type);
    if (data === undefined) return;
    const open = (await t.describe(desk).catch(() => undefined))?.open.at(-1) ?? "1-0";
    const message = { subject: subject(open), data, headers: { [headers.contentType]: contentTypes[type] } };
    await mesh.clock.until(outside.ports.inbox.publish(message));
    await t.settled();
  };

const openTask = async (t: TestMesh) => {
  const [task] = await t.tasks();
  if (task === undefined) throw new Error("the desk asks nobody");
  return task;
};

const openCall = async (t: TestMesh) => `${desk}.${(await t.describe(desk)).open.at(-1) ?? ""}`;

async function callback({ outside, mesh, t }: AtDoor, body: Uint8Array | undefined, type: string) {
  if (body === undefined) return;
  const links = createLinks(outside, { publicUrl: "https://example.org", keys });
  const [, intent = ""] = (await openCall(t)).split(".");
  const url = links.result(desk, intent as never).replace("https://example.org", "");
  const door = createDoor({ ...outside, from: "gateway" }, keys);
  const request = { method: "POST", url, contentType: type, accept: undefined, body: async () => body };
  const reply = await mesh.clock.until(door(request));
  await t.settled();
  if (reply.status >= 500) throw new Error(`the gateway broke: ${reply.body}`);
}

const deferring = () => [call("ask_outside", {}), waiting];

export const valueDoors: readonly ValueDoor[] = [
  { name: "a start", starts: true, give: ({ t }, value) => t.start(agents().desk, { value }, { id: desk }) },
  {
    name: "a start on the wire",
    starts: true,
    give: raw(
      () => subjects.start(desk),
      (value) => ({ name: "desk", input: { value } }),
    ),
  },
  { name: "a signal", give: ({ t }, value) => t.saga(agents().desk, desk).signal("note", value as never) },
  {
    name: "a signal on the wire",
    give: raw(
      () => subjects.signal(desk, "note"),
      (value) => value,
    ),
  },
  {
    name: "a signal in MessagePack",
    give: raw(
      () => subjects.signal(desk, "note"),
      (value) => value,
      "msgpack",
    ),
  },
  {
    name: "an edit of the memory",
    give: ({ t }, value) => t.anySaga(desk).signal("memory", { replace: { value } }),
  },
  {
    name: "an answer to a question",
    says: () => [call("ask", { question: "What?" }), waiting],
    give: async ({ t }, value) => t.vote(await openTask(t), { vote: "answer", answer: value }),
  },
  {
    name: "an answer on the wire",
    says: () => [call("ask", { question: "What?" }), waiting],
    give: raw(
      (intent) => subjects.task(desk, intent as never),
      (answer) => ({ vote: "answer", answer }),
    ),
  },
  {
    name: "an edit of a call",
    says: () => [call("approved", { value: 1 }), waiting],
    give: async ({ t }, value) => t.vote(await openTask(t), { vote: "edit", by: "boss", input: { value } }),
  },
  {
    name: "a settled call",
    says: deferring,
    give: async ({ t }, succeeded) => t.settle(await openCall(t), { succeeded: { value: succeeded } }),
  },
  {
    name: "a result on the wire",
    says: deferring,
    give: raw(
      (intent) => subjects.result(desk, intent as never),
      (value) => ({ outcome: "succeeded", output: { value, more: value } }),
    ),
  },
  {
    name: "a callback",
    says: deferring,
    give: (at, value) => callback(at, bytesOf({ value, more: value }, "json"), "application/json"),
  },
  {
    name: "a callback in MessagePack",
    says: deferring,
    give: (at, value) => callback(at, bytesOf({ value }, "msgpack"), contentTypes.msgpack),
  },
  {
    name: "the output of a once",
    says: () => [call("charge", {}), waiting],
    gives: (value) => value,
  },
  { name: "the output of an idempotent", says: () => [call("keep", {}), waiting], gives: (value) => value },
  { name: "the output of a worker's tool", says: () => [call("work", {}), waiting], gives: (value) => value },
  { name: "a model's call", says: (value) => [call("keep", { value }), waiting] },
  { name: "a model's call of a worker's tool", says: (value) => [call("work", { value }), waiting] },
  { name: "a model's call of a sub-agent", says: (value) => [call("clerk", { value }), waiting] },
  { name: "a model's last word", says: (value) => [call("finish", { output: value }), waiting] },
  {
    name: "a model's block and text",
    says: (value) => [
      { text: typeof value === "string" ? value : "so", blocks: [{ kind: value as never }] },
      waiting,
    ],
  },
  {
    name: "a message to another saga",
    sends: true,
    says: (value) => [call("send", { to: "clerk-1", agent: "clerk", signal: "note", data: value }), waiting],
  },
  { name: "a sub-agent's last word", says: () => [call("clerk", {}), waiting], gives: (value) => value },
  {
    name: "a fork's given result",
    says: deferring,
    give: async ({ t }, succeeded) =>
      t.fork(agents().desk, desk, {
        effects: "simulated",
        toolResults: { [(await openCall(t)).split(".")[1] ?? ""]: { succeeded: { value: succeeded } } },
      }),
  },
];

let world: { says: readonly Says[]; gives: unknown } = { says: [], gives: null };
let made: ReturnType<typeof agentsOf> | undefined;
const agents = () => (made ??= agentsOf());

function agentsOf() {
  const common = { description: "Does it.", input: z.looseObject({}), output: z.json() } as const;
  const give = async () => world.gives as never;
  const undo = defineTool({ ...common, name: "undo_it", effect: "idempotent", perform: async () => null });
  const compensation = { tool: undo, input: () => ({}) };
  const tools = [
    defineTool({ ...common, name: "charge", effect: "once", compensation, onDoubt: "model", perform: give }),
    defineTool({ ...common, name: "keep", effect: "idempotent", compensation, perform: give }),
    defineTool({
      ...{ ...common, name: "work", effect: "idempotent", compensation, perform: give },
      placement: "worker",
    }),
    defineTool({
      ...{ ...common, name: "ask_outside", effect: "once", compensation, onDoubt: "model" },
      output: z.object({ value: z.json() }),
      perform: (_, { defer }) => defer({ withinMs: 86_400_000 }),
    }),
    defineTool({
      ...{ ...common, name: "approved", effect: "once", compensation, onDoubt: "model", perform: give },
      approval: { by: ["boss"], withinMs: 86_400_000, otherwise: "deny" },
    }),
  ];
  const agent = {
    ...{ ...common, version: 1, model: "scripted", instructions: "Work.", signals: { note: z.json() } },
  };
  const clerk = defineAgent({ ...agent, name: "clerk", tools: [] });
  const memory = { schema: z.looseObject({}), initial: {} };
  const own = defineAgent({ ...agent, name: "desk", tools, agents: [clerk], sends: [clerk], memory });
  const model = scriptedModel("scripted", ({ saga, step }) => {
    if (saga.startsWith("desk")) return world.says[step - 1] ?? waiting;
    return saga === "clerk-1" ? waiting : call("finish", { output: world.gives });
  });
  return { desk: own, clerk, app: defineApp({ sagas: [own, clerk], models: { scripted: model } }) };
}

/** A mesh at whose door the value was given. `refused`: with what the giver was told, if anything. */
export async function giveAt(door: ValueDoor, value: unknown) {
  world = { says: door.says?.(value) ?? [], gives: door.gives === undefined ? null : door.gives(value) };
  let mesh!: MemoryMesh;
  const t = openTestMesh(agents().app, {}, { opened: (opened) => (mesh = opened) });
  const outside = mesh.spawn("outside");
  if (door.sends === true) await t.start(agents().clerk, {}, { id: "clerk-1" });
  if (door.starts === undefined) await t.start(agents().desk, {}, { id: desk });
  await t.settled();
  let refused: unknown;
  try {
    await door.give?.({ t, mesh, outside }, value);
  } catch (error) {
    refused = error;
  }
  await t.settled();
  return { t, mesh, outside, refused, app: agents().app };
}
