/**
 * Goal: an id is one start's. Of all that start it with something else one is let in, and every other is told so at once:
 * with a host, without one, while hosts die, and whatever is lost on the way.
 * Method: callers on a memory mesh that start one id at about the same time, each as another process, over many seeds, on
 * one server and on three, with lost answers, delays and repeats; then each door by itself.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { digestOf } from "../../../protocol/digest.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import { headers, subjects } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import { readLetters, retryLetter } from "../../../services/client/dead.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startSaga } from "../../../services/client/start.ts";
import { startHost } from "../../../services/host/host.ts";
import { publishStart } from "../../../services/host/tell-sagas.ts";
import { readBegun } from "../../../services/ledger/begun.ts";
import { calm, rough } from "../../../services/memory/faults.ts";
import { createMemoryMesh, type MemoryMeshOptions } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

const machine = setup({ actors: toActors({}) }).createMachine({
  id: "x",
  initial: "open",
  states: { open: { on: { end: "done" } }, done: { type: "final" } },
  output: {},
});
const define = (name: string) =>
  defineSaga({
    name,
    version: 1,
    input: z.object({ n: z.number() }),
    output: z.object({}),
    signals: { end: z.object({}) },
    machine,
  });
const [one, other] = [define("one"), define("other")];
const id = parseSagaId("s1");

function openMesh(options: MemoryMeshOptions) {
  const mesh = createMemoryMesh(options);
  let hosts = 0;
  const host = async (serves = [one, other]) => {
    const own = mesh.spawn(`host-${++hosts}`);
    const base = { log: silentLog, callbackBase: "sagamesh:", incarnation: `h${hosts}` };
    await startHost({ ...base, ...own }, defineApp({ sagas: serves }));
    return own;
  };
  const caller = (name: string) => ({ ...mesh.spawn(name), from: name });
  const client = (name: string) => createClient(caller(name), async () => undefined);
  return { mesh, host, caller, client, clock: mesh.clock };
}

const answer = (starting: Promise<unknown>): Promise<string> =>
  starting.then(
    () => "ok",
    (error: unknown) => (isMeshError(error) ? error.code : String(error)),
  );

const hosting = ["no host until all are answered", "a host", "a host that is killed"] as const;

describe.each(hosting)("callers with three inputs for one id, and %s", (kind) => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    "seed %i: one input wins, its callers hold its saga, every other is told SAGA_ID_TAKEN",
    async (seed) => {
      const faults = seed % 3 === 0 ? calm : { ...rough, deposed: 0, until: 8_000 };
      const { mesh, clock, host, caller } = openMesh({ seed, replicas: seed % 2 === 0 ? 3 : 1, faults });
      if (kind !== hosting[0]) {
        const first = answer(host());
        if (kind === hosting[2])
          clock.at(clock.now() + mesh.chance.between(1, 300), () => void first.then(() => answer(host())));
      }
      const calls = Array.from({ length: 6 }, async (_, k) => {
        await clock.sleep(mesh.chance.between(0, 60));
        const input = { n: k % 3 };
        const deps = caller(`caller-${k}`);
        return { n: input.n, said: await answer(startSaga(deps, { id, name: "one", input })) };
      });
      const said = await clock.until(Promise.all(calls));
      if (kind === hosting[0]) await clock.until(answer(host()));
      await clock.advance(30_000);
      const begun = await clock.until(readBegun(mesh.spawn("reader").ports, id));
      const winners = new Set(said.filter((call) => call.said === "ok").map(({ n }) => n));
      expect([...winners]).toHaveLength(1);
      const [winner] = winners;
      expect(said.map((call) => call.said)).toEqual(
        said.map(({ n }) => (n === winner ? "ok" : "SAGA_ID_TAKEN")),
      );
      expect(begun?.as?.inputDigest).toBe(digestOf({ n: winner }));
    },
  );
});

describe("a start that stands while no host runs", () => {
  const open = async () => {
    const opened = openMesh({ seed: 1 });
    await opened.clock.until(opened.client("ana").start(one, { n: 1 }, { id }));
    return opened;
  };

  test("is the same saga for one who repeats it, and refuses another input and another name", async () => {
    const { clock, client } = await open();
    const ben = client("ben");
    expect(await clock.until(answer(ben.start(one, { n: 1 }, { id })))).toBe("ok");
    expect(await clock.until(answer(ben.start(one, { n: 2 }, { id })))).toBe("SAGA_ID_TAKEN");
    expect(await clock.until(answer(ben.start(other, { n: 1 }, { id })))).toBe("SAGA_ID_TAKEN");
  });

  test("is told as what it is", async () => {
    const { clock, client } = await open();
    await expect(clock.until(client("ben").start(one, { n: 2 }, { id }))).rejects.toThrow(
      "a start of s1 is stored already, with another input",
    );
    await expect(clock.until(client("ben").start(other, { n: 1 }, { id }))).rejects.toThrow(
      "a start of s1 is stored already, as one",
    );
  });

  test("that no host can read takes the id until a host has refused it", async () => {
    const { clock, client, host, caller } = openMesh({ seed: 1 });
    const raw = { subject: subjects.start(id), data: Buffer.from("nonsense"), headers: {} };
    await clock.until(caller("raw").ports.inbox.publish(raw));
    expect(await clock.until(answer(client("ana").start(one, { n: 1 }, { id })))).toBe("SAGA_ID_TAKEN");
    await clock.until(host());
    await clock.advance(1_000);
    expect(await clock.until(answer(client("ana").start(one, { n: 1 }, { id })))).toBe("ok");
  });
});

test("the same start that a host refused a moment ago is stored anew, and begins once it is served", async () => {
  const { clock, client, host, mesh } = openMesh({ seed: 1 });
  const strict = defineSaga({
    ...one,
    input: z.object({ n: z.number().max(5) }),
    machine,
    signals: one.signals,
  });
  const refusing = await clock.until(host([strict as typeof one]));
  const ana = client("ana");
  await clock.until(ana.start(one, { n: 9 }, { id }));
  await clock.advance(1_000);
  expect(await clock.until(readLetters(mesh.spawn("ops")))).toMatchObject([{ code: "INPUT_INVALID" }]);
  refusing.gate.crash();
  await clock.until(host());
  expect(await clock.until(answer(ana.start(one, { n: 9 }, { id })))).toBe("ok");
  await clock.advance(10_000);
  expect((await clock.until(readBegun(mesh.spawn("reader").ports, id)))?.definition.name).toBe("one");
});

describe("other doors", () => {
  test("a letter with a start is not sent again while another start of its saga stands", async () => {
    const { clock, client, caller } = openMesh({ seed: 1 });
    const ops = caller("ops");
    const letter = {
      subject: subjects.dead("inbox", id),
      data: Buffer.from('{"name":"one","input":{"n":1}}'),
      headers: { [headers.origin]: `inbox.0.${id}.start#1`, [headers.reason]: "[AGENT_UNKNOWN] late" },
      msgId: "letter",
    };
    await clock.until(ops.ports.dead.publish(letter));
    await clock.until(client("ana").start(one, { n: 2 }, { id }));
    const [read] = await clock.until(readLetters(ops));
    expect(await clock.until(answer(retryLetter(ops, read!)))).toBe("SAGA_ID_TAKEN");
    expect(await clock.until(readLetters(ops))).toHaveLength(1);
  });

  test("a child's start that finds another in the inbox is told to its parent at once, and its own repeat is not", async () => {
    const { clock, client, caller } = openMesh({ seed: 1 });
    const host = { ...caller("host"), signal: new AbortController().signal };
    const intent = { id: parseIntentId("1-0"), kind: "saga", name: "one", saga: id, key: "k" } as const;
    const child = defineApp({ sagas: [one] }).latest("one")!;
    const start = (parent: string) =>
      clock.until(
        publishStart(
          host,
          { saga: parseSagaId(parent), agent: "p" },
          { intent, input: { n: 1 }, attempt: 1 },
          intent,
          { child, tree: { root: parseSagaId(parent), depth: 1, depthMax: 8 }, traceparent: "" },
        ),
      );
    const told: string[] = [];
    for (let partition = 0; partition < host.ports.inbox.partitions; partition++)
      await clock.until(
        host.ports.inbox.consume(partition, { inFlightMax: 9, startsMax: () => 0 }, ({ subject, data }) => {
          const { code } = JSON.parse(Buffer.from(data).toString()) as { code: string };
          told.push(`${subject.split(".").slice(2).join(".")} ${code}`);
        }),
      );
    await start("parent");
    await start("parent");
    expect(await clock.until(answer(client("ana").start(one, { n: 1 }, { id })))).toBe("SAGA_ID_TAKEN");
    await clock.advance(100);
    expect(told).toEqual([]);
    await start("parent-2");
    await clock.advance(100);
    expect(told).toEqual(["parent-2.result.1-0 SAGA_ID_TAKEN"]);
  });
});
