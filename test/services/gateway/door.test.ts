/**
 * The door on a mesh in memory, whose clock the test turns: days pass, processes die, gateways race.
 *
 * Method: a host and a worker with the recruiter's agent, two gateways as processes of their own, and requests handed
 * to their doors as a server would. What was taken is read from the ledger.
 */
import { describe, expect, test } from "vitest";
import type { PerformContext } from "../../../actors/contract/tool.ts";
import { ErrorDocument } from "../../../protocol/documents/stderr.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { readLedger } from "../../../services/views/view.ts";
import { createDoor, type Door, type Reply } from "../../../services/gateway/door.ts";
import { createKeys } from "../../../services/gateway/keys.ts";
import { createLinks } from "../../../services/gateway/links.ts";
import { startHost } from "../../../services/host/host.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import { answerWithinMs, recruiting, type RecruitingOptions } from "../../support/recruiter.ts";

const day = 86_400_000;
const keys = createKeys(["a secret of the gateway with 32 characters"]);
const saga = "hire-41" as SagaId;

interface Options extends RecruitingOptions {
  readonly sent?: (context: PerformContext) => void | Promise<void>;
}

/** A saga that has asked the recruiter and waits. */
async function asking({ sent = () => undefined, ...how }: Options = {}) {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const asked: string[] = [];
  const { agent, app } = recruiting((context) => {
    asked.push(context.callbackUrl);
    return sent(context);
  }, how);
  const running: MemoryProcess[] = [];
  const spawn = (role: "host" | "worker") => {
    const process = mesh.spawn(role);
    running.push(process);
    const callbackUrlOf = createLinks(process, { publicUrl: "https://example.org/mesh", keys }).result;
    const options = {
      ...{ ports: process.ports, clock: process.clock, chance: process.chance, log: silentLog },
      ...{ incarnation: process.gate.name, callbackBase: "sagamesh:", callbackUrlOf },
    };
    void (role === "host" ? startHost(options, app) : startWorker(options, app));
  };
  const start = () => {
    spawn("host");
    spawn("worker");
  };
  const die = () => {
    for (const { gate } of running.splice(0)) gate.crash();
  };
  const doorOf = (name: string): Door => {
    const { ports, clock: own, chance } = mesh.spawn(name);
    return createDoor({ ports, clock: own, chance, from: "gateway" }, keys);
  };
  const client = mesh.spawn("client");
  const deps = { ports: client.ports, clock: client.clock, chance: client.chance, from: "test" };
  const user = createClient(deps, () => Promise.resolve());
  /** Time in which nobody needs to do anything. */
  const sleep = async (ms: number) => {
    for (const { gate } of running) gate.pause();
    await clock.advance(ms);
    for (const { gate } of running) gate.resume();
    await clock.advance(5_000);
  };
  start();
  await clock.until(user.start(agent, {}, { id: saga }));
  await clock.advance(2_000);
  const doors = [doorOf("gateway-1"), doorOf("gateway-2")] as const;
  const handle = user.saga(agent, saga);
  return {
    mesh,
    asked,
    doors,
    handle,
    clock,
    user,
    agent,
    start,
    die,
    sleep,
    links: createLinks(client, { publicUrl: "https://example.org", keys }),
    end: () => clock.until(handle.result()),
    events: async () =>
      (await clock.until(readLedger(client.ports, saga))).flatMap(({ turn }) =>
        turn.steps.map(({ event }) => event),
      ),
    url: () => asked[0] ?? "no URL",
    post: (url: string, body: unknown, door: Door = doors[0], more: object = {}) =>
      clock.until(
        request(door, "POST", url, JSON.stringify(body), { contentType: "application/json", ...more }),
      ),
    /** An answer to a gateway that wins its claim and dies before it stores it. */
    postAndDie: async (url: string, body: unknown) => {
      const { ports, gate, clock: own, chance } = mesh.spawn("gateway-3");
      gate.onCall((port, method, when) => {
        if (port === "inbox" && method === "publish" && when === "before") gate.crash();
      });
      const door = createDoor({ ports, clock: own, chance, from: "gateway" }, keys);
      const lost = request(door, "POST", url, JSON.stringify(body), { contentType: "application/json" });
      lost.catch(() => undefined);
      await clock.advance(1_000);
      expect(gate.state()).toBe("crashed");
    },
    get: (url: string, more: object = {}) => clock.until(request(doors[0], "GET", url, "", more)),
  };
}

const request = (door: Door, method: string, url: string, body = "", more: object = {}): Promise<Reply> =>
  door({
    ...{ method, url: url.replace("https://example.org", ""), contentType: undefined, accept: undefined },
    ...{ body: async () => Buffer.from(body), ...more },
  });

const codeOf = ({ body }: Reply): string => ErrorDocument.parse(JSON.parse(body)).error.code;
const told = (reply: Reply): [number, string] => [reply.status, reply.status < 300 ? "taken" : codeOf(reply)];
const slot = { slot: "2026-01-06T10:00:00Z" };
const other = { slot: "2026-01-07T10:00:00Z" };

describe("the recruiter", () => {
  test("answers after three days, through a restart of everything, and the saga goes on with the answer", async () => {
    const t = await asking();
    await t.sleep(day);
    t.die();
    await t.clock.advance(day);
    t.start();
    await t.sleep(day);
    expect(t.asked).toHaveLength(1);
    expect(told(await t.post(t.url(), slot))).toEqual([202, "taken"]);
    expect(await t.end()).toMatchObject({
      status: "completed",
      output: { outcomes: [{ outcome: "succeeded", output: slot }] },
    });
    expect(await t.events()).toContainEqual(
      expect.objectContaining({
        type: "result",
        by: "gateway",
        result: { outcome: "succeeded", output: slot },
      }),
    );
  });

  test("is heard while no host runs, and the answer is there when one does", async () => {
    const t = await asking();
    t.die();
    expect(told(await t.post(t.url(), slot))).toEqual([202, "taken"]);
    await t.clock.advance(3 * day);
    t.start();
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ outcome: "succeeded", output: slot }] } });
  });

  test("says that it failed", async () => {
    const t = await asking();
    expect(told(await t.post(t.url(), { failed: "no slots" }))).toEqual([202, "taken"]);
    expect(await t.end()).toMatchObject({
      output: { outcomes: [{ outcome: "failed", reason: "no slots" }] },
    });
  });

  test("who answers after the deadline is refused, before its timer was recorded and after", async () => {
    const t = await asking();
    t.die();
    await t.clock.advance(answerWithinMs);
    expect(told(await t.post(t.url(), slot))).toEqual([410, "CALLBACK_EXPIRED"]);
    t.start();
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ code: "DEFERRED_TOO_LATE" }] } });
    expect(told(await t.post(t.url(), slot))).toEqual([410, "CALLBACK_EXPIRED"]);
    expect(told(await t.get(t.url()))).toEqual([410, "CALLBACK_EXPIRED"]);
    expect((await t.events()).filter((event) => event.type === "result" && event.by === "gateway")).toEqual(
      [],
    );
  });

  test("who answers before anybody recorded that the call is deferred is heard", async () => {
    let early: string | undefined;
    const t = await asking({
      effect: "once",
      sent: ({ callbackUrl }) => {
        early = callbackUrl;
        throw new Error("the connection broke after the mail was sent");
      },
    });
    expect(told(await t.post(early ?? "", slot))).toEqual([202, "taken"]);
    await t.clock.advance(2_000);
    expect((await t.events()).at(-1)).not.toMatchObject({ type: "task" });
    expect(await t.events()).toContainEqual(
      expect.objectContaining({
        type: "result",
        by: "gateway",
        result: { outcome: "succeeded", output: slot },
      }),
    );
  });
});

describe("once", () => {
  test.each(["while hosts run", "while none does"])(
    "of 100 answers over two gateways exactly one is taken, %s",
    async (when) => {
      const t = await asking();
      if (when === "while none does") t.die();
      const answers = Array.from({ length: 100 }, (_, i) => ({ ...slot, seats: i }));
      const replies = await t.clock.until(
        Promise.all(
          answers.map((answer, i) =>
            request(t.doors[i % 2] ?? t.doors[0], "POST", t.url(), JSON.stringify(answer), {
              contentType: "application/json",
            }),
          ),
        ),
      );
      const winners = replies.flatMap((reply, i) => (reply.status === 202 ? [answers[i]] : []));
      expect(winners).toHaveLength(1);
      expect(replies.filter(({ status }) => status !== 202).map(told)).toEqual(
        Array.from({ length: 99 }, () => [409, "ANSWER_TAKEN"]),
      );
      if (when === "while none does") {
        await t.clock.advance(10 * 60_000); // Longer than the server remembers Msg-Ids.
        expect(told(await t.post(t.url(), { ...slot, seats: 100 }, t.doors[1]))).toEqual([
          409,
          "ANSWER_TAKEN",
        ]);
        t.start();
      }
      expect(await t.end()).toMatchObject({ output: { outcomes: [{ output: winners[0] }] } });
      const results = (await t.events()).filter((event) => event.type === "result" && event.by === "gateway");
      expect(results).toHaveLength(1);
    },
  );

  test("the same answer again is welcome: before it is recorded, and after, when it is there already", async () => {
    const t = await asking();
    t.die();
    expect((await t.post(t.url(), slot)).status).toBe(202);
    expect((await t.post(t.url(), slot, t.doors[1])).status).toBe(202);
    t.start();
    await t.end();
    const again = await t.post(t.url(), slot);
    expect(again.status).toBe(200);
    expect(JSON.parse(again.body)).toMatchObject({ stored: true, already: true, saga });
    expect(told(await t.post(t.url(), other))).toEqual([409, "ANSWER_TAKEN"]);
    expect(told(await t.post(t.url(), { failed: "no" }))).toEqual([409, "ANSWER_TAKEN"]);
  });

  test("an answer whose gateway died before it stored it is handed on by the next one that comes, which is refused", async () => {
    const t = await asking();
    await t.postAndDie(t.url(), slot);
    expect((await t.events()).some((event) => event.type === "result" && event.by === "gateway")).toBe(false);
    expect(told(await t.post(t.url(), other))).toEqual([409, "ANSWER_TAKEN"]);
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ output: slot }] } });
    expect((await t.post(t.url(), slot)).status).toBe(200);
  });

  test("the answer that such a gateway took along is one to the attempt of its time, and to no later one", async () => {
    let breakOff = (_: Error): void => {};
    const t = await asking({
      sent: ({ attempt }) =>
        attempt === 1 ? new Promise<void>((_, refuse) => (breakOff = refuse)) : undefined,
    });
    await t.postAndDie(t.url(), { failed: "no slots" });
    breakOff(new Error("the mail server was down"));
    await t.clock.advance(5_000);
    expect(t.asked).toHaveLength(2);
    expect(told(await t.post(t.url(), slot))).toEqual([202, "taken"]);
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ output: slot }] } });
  });

  test("a failure that somebody else reported is corrected by what the outside says, once", async () => {
    const t = await asking({
      sent: () => {
        throw new Error("the connection broke after the mail was sent");
      },
    });
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ outcome: "failed" }] } });
    expect(told(await t.post(t.url(), { failed: "no" }))).toEqual([409, "ANSWER_TAKEN"]);
    expect(told(await t.post(t.url(), slot))).toEqual([202, "taken"]);
    await t.clock.advance(5_000);
    expect((await t.events()).at(-1)).toMatchObject({
      type: "result",
      by: "gateway",
      result: { output: slot },
    });
    expect(told(await t.post(t.url(), other))).toEqual([409, "ANSWER_TAKEN"]);
  });

  test("a read that nobody waits for any more takes no answer", async () => {
    const t = await asking({ effect: "read" });
    await t.clock.until(t.handle.cancel("enough"));
    await t.end();
    expect(told(await t.post(t.url(), slot))).toEqual([409, "ANSWER_TAKEN"]);
  });

  test("an attempt that is made again is asked about again, by the same URL", async () => {
    let attempts = 0;
    const t = await asking({
      sent: () => {
        attempts += 1;
        if (attempts === 1) throw new Error("the mail server was down");
      },
    });
    await t.clock.advance(5_000);
    expect(attempts).toBe(2);
    expect(told(await t.post(t.url(), slot))).toEqual([202, "taken"]);
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ output: slot }] } });
  });
});

describe("nothing is stored", () => {
  test.each<[string, (url: string) => string, unknown, [number, string]]>([
    ["an output that does not fit the tool", (url) => url, { slot: "Tuesday" }, [422, "INPUT_INVALID"]],
    ["no output at all", (url) => url, undefined, [422, "INPUT_INVALID"]],
    ["another's signature", (url) => url.slice(0, -1), slot, [401, "CALLBACK_REFUSED"]],
    ["a bare token", () => "/callback/hire-41.2-0", slot, [401, "CALLBACK_REFUSED"]],
    ["another kind of link", (url) => url.replace("/callback/", "/signal/"), slot, [404, "CALLBACK_REFUSED"]],
    ["a path that is none", () => "/elsewhere", slot, [404, "CALLBACK_REFUSED"]],
    ["an outcome that is none", (url) => `${url}?outcome=maybe`, slot, [400, "BAD_MESSAGE"]],
  ])("for %s", async (_, change, body, expected) => {
    const t = await asking();
    const before = (await t.events()).length;
    expect(told(await t.post(change(t.url()), body))).toEqual(expected);
    await t.clock.advance(5_000);
    expect(await t.events()).toHaveLength(before);
    expect(told(await t.post(t.url(), slot))).toEqual([202, "taken"]);
  });

  test("for a saga, a call or a type that is not there, and by GET, HEAD, OPTIONS and DELETE", async () => {
    const t = await asking();
    const before = (await t.events()).length;
    const unknown = (id: string, intent: string) => t.links.result(id as SagaId, intent as IntentId);
    expect(told(await t.post(unknown("nobody", "2-0"), slot))).toEqual([404, "SAGA_UNKNOWN"]);
    expect(told(await t.post(unknown(saga, "90-0"), slot))).toEqual([404, "INTENT_UNKNOWN"]);
    expect(told(await t.post(unknown(saga, "1-0"), slot))).toEqual([404, "INTENT_UNKNOWN"]);
    expect(told(await t.post(t.url(), slot, t.doors[0], { contentType: "image/png" }))).toEqual([
      415,
      "BAD_MESSAGE",
    ]);
    for (const method of ["GET", "HEAD"])
      expect((await t.clock.until(request(t.doors[0], method, `${t.url()}?slot=${slot.slot}`))).status).toBe(
        200,
      );
    const options = await t.clock.until(request(t.doors[0], "OPTIONS", t.url()));
    expect([options.status, options.headers["allow"]]).toEqual([204, "GET, HEAD, POST, OPTIONS"]);
    expect(told(await t.clock.until(request(t.doors[0], "DELETE", t.url())))).toEqual([405, "BAD_MESSAGE"]);
    await t.clock.advance(5_000);
    expect(await t.events()).toHaveLength(before);
  });

  test("for a link that has expired by itself", async () => {
    const t = await asking();
    const link = t.links.signal({ saga, name: "note" }, 60_000);
    t.die();
    await t.clock.advance(61_000);
    expect(told(await t.post(link, { text: "late" }))).toEqual([410, "CALLBACK_EXPIRED"]);
  });
});

describe("ways to say it", () => {
  test.each<[string, string, string, object]>([
    ["a form", `slot=${slot.slot}`, "application/x-www-form-urlencoded", slot],
    [
      "a form with a number",
      `slot=${slot.slot}&seats=3`,
      "application/x-www-form-urlencoded",
      { ...slot, seats: 3 },
    ],
    ["JSON that curl calls a form", JSON.stringify(slot), "application/x-www-form-urlencoded", slot],
    ["JSON that says that it succeeded", JSON.stringify({ succeeded: slot }), "application/json", slot],
  ])("%s", async (_, body, contentType, output) => {
    const t = await asking();
    const reply = await t.clock.until(request(t.doors[0], "POST", t.url(), body, { contentType }));
    expect(reply.status).toBe(202);
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ output }] } });
  });

  test("a link in a mail that holds the answer: a page that repeats it as text, and a POST of nothing", async () => {
    const t = await asking();
    const url = `${t.url()}?slot=${slot.slot}`;
    const page = await t.get(`${url}&x=%3Cscript%3E`, { accept: "text/html,*/*" });
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.body).toContain(slot.slot);
    expect(page.body).toContain("&lt;script&gt;");
    expect(page.body).not.toContain("<script>");
    expect(page.body).toContain('<form method="post">');
    const form = { contentType: "application/x-www-form-urlencoded", accept: "text/html" };
    const reply = await t.clock.until(request(t.doors[0], "POST", url, "", form));
    expect([reply.status, reply.headers["content-type"]]).toEqual([202, "text/html; charset=utf-8"]);
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ output: slot }] } });
    expect((await t.get(url, { accept: "text/html" })).status).toBe(409);
  });

  test("a page without an answer has a field for each member of the output", async () => {
    const t = await asking();
    const { body } = await t.get(t.url(), { accept: "text/html" });
    expect(body).toContain('<input type="text" name="slot" required>');
    expect(body).toContain('<input type="number" step="any" name="seats">');
  });

  test("mesh.settle takes the gateway's URL, too", async () => {
    const t = await asking();
    await t.clock.until(t.user.settle(t.url(), { succeeded: slot }));
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ output: slot }] } });
    expect(told(await t.post(t.url(), other))).toEqual([409, "ANSWER_TAKEN"]);
  });
});

describe("a signal's link", () => {
  test("sends its signal once, and says what it was made to say", async () => {
    const t = await asking();
    const link = t.links.signal({ saga, name: "note", data: { text: "Tuesday only" } }, day);
    expect((await t.get(link, { accept: "text/html" })).body).toContain("Tuesday only");
    expect((await t.post(link, { text: "something else" })).status).toBe(202);
    await t.clock.advance(5_000);
    expect((await t.post(link, undefined)).status).toBe(200);
    const signals = (await t.events()).filter((event) => event.type === "signal");
    expect(signals).toMatchObject([{ name: "note", data: { text: "Tuesday only" } }]);
  });

  test("without data says what its user says: the first to use it, and that only", async () => {
    const t = await asking();
    const link = t.links.signal({ saga, name: "note" }, day);
    expect(told(await t.post(link, { text: 7 }))).toEqual([422, "INPUT_INVALID"]);
    const replies = await t.clock.until(
      Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          request(t.doors[i % 2] ?? t.doors[0], "POST", link, `note ${i}`, { contentType: "text/plain" }),
        ),
      ),
    );
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(1);
    await t.sleep(8 * 60_000);
    expect(told(await t.post(link, { text: "again" }))).toEqual([409, "ANSWER_TAKEN"]);
    expect((await t.events()).filter((event) => event.type === "signal")).toHaveLength(1);
  });

  test("that names no signal of the saga, or a saga that has ended, is refused", async () => {
    const t = await asking();
    expect(told(await t.post(t.links.signal({ saga, name: "nonsense" }, day), {}))).toEqual([
      422,
      "SIGNAL_UNKNOWN",
    ]);
    await t.post(t.url(), slot);
    await t.end();
    expect(told(await t.post(t.links.signal({ saga, name: "note" }, day), { text: "a" }))).toEqual([
      410,
      "SAGA_ENDED",
    ]);
  });
});

describe("a task's link", () => {
  const intentOf = async (t: Awaited<ReturnType<typeof asking>>): Promise<IntentId> => {
    const [task] = await t.clock.until(t.user.tasks());
    if (task === undefined) throw new Error("somebody is asked");
    return task.intent;
  };

  test("of a fork whose effects are simulated says so on its page, as does a signal's; the origin's says nothing", async () => {
    const t = await asking({ approvers: ["ann"] });
    const intent = await intentOf(t);
    const turns = (await t.clock.until(t.user.anySaga(saga).ledger())).length;
    await import("../../../services/app/sample.ts"); // Virtual time does not wait for a module.
    const fork = (await t.clock.until(t.user.fork(t.agent, saga, { from: turns, id: "sim" }))).id;
    await t.clock.advance(5_000);
    const [task] = (await t.clock.until(t.user.tasks())).filter((one) => one.saga === fork);
    const pageOf = async (url: string) => (await t.get(url, { accept: "text/html" })).body;
    const words = `SIMULATED: a fork of ${saga} from turn ${turns}; nothing outside is touched`;
    const link = (of: SagaId, id: IntentId) =>
      t.links.task({ saga: of, intent: id, vote: "approve", by: "ann" }, day);
    expect(await pageOf(link(fork, task!.intent))).toContain(words);
    expect(await pageOf(t.links.signal({ saga: fork, name: "cancel" }, day))).toContain(words);
    expect(await pageOf(link(saga, intent))).not.toContain("SIMULATED");
  });

  test("approves in the name it was made for, and shows what is approved before", async () => {
    const t = await asking({ approvers: ["ann", "bob"] });
    const intent = await intentOf(t);
    const [ann, bob] = ["ann", "bob"].map((by) => t.links.task({ saga, intent, vote: "approve", by }, day));
    const page = await t.get(ann ?? "", { accept: "text/html" });
    expect(page.body).toContain("candidate&quot;: &quot;c1");
    expect(page.body).toContain("as ann");
    expect(t.asked).toEqual([]);
    expect((await t.post(ann ?? "", undefined)).status).toBe(202);
    await t.clock.advance(5_000);
    expect((await t.post(ann ?? "", undefined)).status).toBe(200);
    expect(t.asked).toEqual([]); // Two must approve.
    expect((await t.post(bob ?? "", undefined)).status).toBe(202);
    await t.clock.advance(5_000);
    expect(t.asked).toHaveLength(1);
    expect((await t.events()).filter((event) => event.type === "task")).toMatchObject([
      { vote: { vote: "approve", by: "ann" } },
      { vote: { vote: "approve", by: "bob" } },
    ]);
    const late = t.links.task({ saga, intent, vote: "deny", by: "carl" }, day);
    expect(told(await t.post(late, undefined))).toEqual([409, "TASK_OVER"]);
    expect(
      told(await t.post(t.links.task({ saga, intent: "90-0" as IntentId, vote: "deny", by: "a" }, day), {})),
    ).toEqual([404, "TASK_UNKNOWN"]);
  });

  test("of somebody who is not asked is refused, and one in a role that is asked is taken", async () => {
    const t = await asking({ approvers: ["finance"] });
    const intent = await intentOf(t);
    const link = (as?: string) =>
      t.links.task({ saga, intent, vote: "approve", by: "eve", ...(as === undefined ? {} : { as }) }, day);
    expect(told(await t.post(link(), undefined))).toEqual([403, "VOTER_NOT_ASKED"]);
    expect(told(await t.post(link("sales"), undefined))).toEqual([403, "VOTER_NOT_ASKED"]);
    expect((await t.post(link("finance"), undefined)).status).toBe(202);
    await t.clock.advance(5_000);
    const [voted] = (await t.events()).filter((event) => event.type === "task");
    expect(voted).toMatchObject({ vote: { by: "eve", as: "finance", digest: expect.any(String) as string } });
  });

  test("denies, and the call is not made", async () => {
    const t = await asking({ approvers: ["ann", "bob"] });
    const link = t.links.task({ saga, intent: await intentOf(t), vote: "deny", by: "ann" }, day);
    expect((await t.post(link, undefined)).status).toBe(202);
    expect(await t.end()).toMatchObject({ output: { outcomes: [{ outcome: "denied" }] } });
    expect(t.asked).toEqual([]);
  });
});
