/**
 * Disturber: does what the plan says, each deed at its time, and undoes what does not end by itself.
 *
 * D1 A server is struck only while the other two have all that it has; otherwise the blow is passed over, and said so.
 * D2 When it is done everything runs and every line is whole.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Crew, Member } from "./crew.ts";
import { type Blow, type Deed, describeBlow, lengthOf } from "./plan.ts";
import type { Proxy } from "./proxy.ts";
import type { Servers } from "./servers.ts";

/** A blow as it was struck. */
export interface Strike {
  readonly at: number;
  readonly blow: Blow;
  /** The process, where one was. */
  readonly pid: number | undefined;
  /** False: there was nobody, or it would have been one too many. */
  readonly landed: boolean;
}

export interface Stage {
  readonly servers: Servers;
  readonly crew: Crew;
  readonly lines: { readonly client: Proxy; readonly outside: Proxy };
  readonly tell: (line: string) => void;
}

/** Strikes every blow of the plan, and resolves when all have ended. `strikes` grows as they are struck. */
export async function disturb(stage: Stage, plan: readonly Blow[], strikes: Strike[]): Promise<void> {
  const beganAt = performance.now();
  const lasting: Promise<void>[] = [];
  for (const blow of plan) {
    await delay(Math.max(0, blow.atMs - (performance.now() - beganAt)));
    const at = Date.now();
    const done = await strike(stage, blow).catch((error: unknown) => {
      stage.tell(`not struck: ${String(error)}`);
      return undefined;
    });
    strikes.push({ at, blow, pid: done?.pid, landed: done !== undefined });
    stage.tell(`${describeBlow(blow)}${done === undefined ? ": passed over" : ""}`);
    if (done !== undefined) lasting.push(done.over);
  }
  await Promise.all(lasting);
}

interface Struck {
  readonly pid: number | undefined;
  readonly over: Promise<void>;
}

async function strike({ servers, crew, lines }: Stage, { victim, deed }: Blow): Promise<Struck | undefined> {
  if (victim.kind === "server") return strikeServer(servers, victim.which, deed);
  if (!("index" in victim)) return { pid: undefined, over: disturbLine(lines[victim.kind], deed) };
  const members = crew.members.filter(({ role }) => role === victim.kind);
  const member = members[victim.index];
  return member === undefined ? undefined : strikeMember(member, deed);
}

function strikeMember(member: Member, deed: Deed): Struck | undefined {
  const pid = member.pid();
  if (pid === undefined) return undefined;
  if (deed.do === "kill") return member.kill(deed.downMs) ? { pid, over: delay(deed.downMs) } : undefined;
  if (deed.do !== "freeze") return { pid, over: disturbLine(member.proxy, deed) };
  if (!member.freeze()) return undefined;
  return {
    pid,
    over: delay(deed.forMs)
      .then(() => member.pid() === pid && member.thaw())
      .then(nothing),
  };
}

async function strikeServer(
  servers: Servers,
  which: number | string,
  deed: Deed,
): Promise<Struck | undefined> {
  if (!(await servers.areCurrent())) return undefined; // D1
  const place = typeof which === "number" ? which : await servers.leaderOf(which);
  const server = place === undefined ? undefined : servers.cluster.servers[place];
  const pid = server?.pid();
  if (server === undefined || pid === undefined) return undefined;
  server.signal(deed.do === "kill" ? "SIGKILL" : "SIGSTOP");
  const back = async () => {
    await delay(lengthOf(deed));
    if (deed.do === "kill") await server.start();
    else server.signal("SIGCONT");
  };
  return { pid, over: back() };
}

async function disturbLine(line: Proxy, deed: Deed): Promise<void> {
  if (deed.do === "drop") return line.drop();
  if (deed.do === "cut") line.cut(deed.direction);
  if (deed.do === "slow") line.slow(deed.byMs);
  await delay(lengthOf(deed));
  line.heal();
}

const nothing = (): undefined => undefined;
