/**
 * World: the outside, with an account of every request. Talent pool, mailboxes, rooms, a bank and calendars behind one
 * door, `POST /<tool>` with the effect's key.
 *
 * It also pulls the trigger: only here is it known exactly how far an effect has come. It kills nothing but processes
 * that were marked, and only the one whose request it has in hand.
 *
 * DW1 What is answered stands in the account before the answer is sent.
 * DW2 Idempotent doors remember their keys. The bank and the room desk do not: asked twice, they do it twice.
 */
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { pidHeader } from "./app.ts";
import { chanceOf, type PlannedKill, type Window } from "./kill-plan.ts";
import type { Entry, Strike } from "./reckon.ts";

const Request = z.object({ key: z.string(), input: z.record(z.string(), z.json()), answerTo: z.string() });
type Request = z.infer<typeof Request>;

const names = "ada ben chloe dan eva finn gita hugo ines jan kira leo mina noah olga paul rosa sven tara udo";
const skills = ["Go", "TypeScript", "Kafka", "PostgreSQL", "Kubernetes", "Rust"] as const;
const skillOf = (name: string): string => skills[Math.floor(chanceOf(`skill ${name}`) * skills.length)] ?? "";

/** What a service does: it changes nothing, it knows a key again, or it does not (DW2); what it answers. */
type Service = readonly [
  kind: "read" | "remembers" | "forgets",
  answer: (input: Request["input"], done: (tool: string) => Entry[]) => Json,
];

const services: Readonly<Record<string, Service>> = {
  search_candidates: [
    "read",
    ({ limit }) => ({
      candidates: names
        .split(" ")
        .slice(0, Number(limit))
        .map((name) => ({ candidateId: name, summary: `${skillOf(name)}, backend` })),
    }),
  ],
  enrich_candidate: [
    "read",
    (input) => {
      const name = z.string().parse(input["candidateId"]);
      const score = Math.round(chanceOf(`score ${name}`) * 1_000) / 10;
      const years = 3 + Math.floor(score / 10);
      return { profile: `${name} has written ${skillOf(name)} for ${years} years.`, score };
    },
  ],
  request_interview: ["remembers", () => ({})],
  reserve_room: ["forgets", (_, done) => ({ room: `R${12 + done("reserve_room").length}` })],
  charge_deposit: ["forgets", (_, done) => ({ chargeId: `ch_${done("charge_deposit").length + 1}` })],
  find_deposit: [
    "read",
    ({ room }, done) =>
      done("charge_deposit").find(({ input }) => (input as { room?: Json }).room === room)?.output ?? {},
  ],
  create_invite: ["remembers", (_, done) => ({ inviteId: `inv_${done("create_invite").length + 1}` })],
};
/** What opening takes. */
export interface WorldOptions {
  readonly kills: readonly PlannedKill[];
  /** The account's file, a line of JSON an entry. */
  readonly file: string;
  readonly onStrike: (strike: Strike) => void;
  /** Delivers a candidate's answer. */
  readonly settle: (answerTo: string, slot: string) => Promise<void>;
}

/** The outside, open. */
export interface World {
  readonly url: string;
  readonly account: readonly Entry[];
  /** A process of the demo's own: the only ones that may be killed. */
  mark(this: void, pid: number): void;
  close(): void;
}

/** Opens the door. Resolves when it takes requests. */
export async function openWorld({ kills, file, onStrike, settle }: WorldOptions): Promise<World> {
  const account: Entry[] = [];
  const armed = new Set(kills);
  const marked = new Set<number>();
  const arrived = new Map<string, number>();

  /** The kill that this request is to trigger, if any. */
  const takeKill = (tool: string, pid: number): PlannedKill | undefined => {
    if (!marked.has(pid)) return undefined;
    const nth = (arrived.get(tool) ?? 0) + 1;
    arrived.set(tool, nth);
    const kill = [...armed].find((one) => one.tool === tool && nth >= one.nth);
    if (kill !== undefined) marked.delete(pid); // What the dead process had sent before is served like anything else.
    if (kill !== undefined) armed.delete(kill);
    return kill;
  };

  /** DW1, DW2. Does what is asked for, or knows it again, and writes it down. */
  const book = (tool: string, [kind, answer]: Service, { key, input, answerTo }: Request): Json => {
    const earlier =
      kind === "remembers" ? account.find((entry) => entry.tool === tool && entry.key === key) : undefined;
    const did = earlier !== undefined ? "remembered" : kind === "read" ? "read" : "performed";
    const done = (of: string) => account.filter((entry) => entry.tool === of && entry.did === "performed");
    const output = earlier?.output ?? answer(input, done);
    const entry: Entry = { at: Date.now(), tool, key, did, input, output };
    account.push(entry);
    appendFileSync(file, `${JSON.stringify(entry)}\n`);
    if (tool === "request_interview" && did === "performed")
      delay(500 + 700 * chanceOf(`answer ${key}`))
        .then(() => settle(answerTo, slotOf(key)))
        .catch((error: unknown) => console.error("a candidate's answer was not delivered", error));
    return output;
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://outside");
    const [first = "", second] = pathname.slice(1).split("/");
    if (first === "probe") {
      const known = account.find(({ tool, key }) => tool === second && key === searchParams.get("key"));
      return reply(response, 200, known === undefined ? {} : { output: known.output });
    }
    const service = services[first];
    const { data: request } = Request.safeParse(await json(incoming));
    if (service === undefined || request === undefined)
      return reply(response, 400, `there is no such door: ${first}`);
    const pid = Number(incoming.headers[pidHeader]);
    const kill = takeKill(first, pid);
    const strike = (window: Window): boolean => {
      if (kill?.window !== window) return false;
      const at = Date.now();
      process.kill(pid, "SIGKILL"); // First: who has the reply already is about to pass it on.
      onStrike({ kill, pid, key: request.key, at });
      return true;
    };
    await delay(50 + 150 * chanceOf(`${first} ${request.key}`));
    if (strike("before-record")) return void response.destroy();
    const output = book(first, service, request);
    if (strike("after-record")) return void response.destroy();
    response.once("finish", () => strike("after-reply"));
    reply(response, 200, output);
  };

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      console.error("a request was not served", error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    account,
    mark: (pid) => void marked.add(pid),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** When a candidate has time, by the request's key: an hour of a working week. */
function slotOf(key: string): string {
  const hour = Math.floor(chanceOf(`slot ${key}`) * 40);
  return new Date(Date.UTC(2031, 2, 3 + Math.floor(hour / 8), 9 + (hour % 8))).toISOString();
}

const reply = (response: ServerResponse, status: number, body: Json): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
