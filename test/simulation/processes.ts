/**
 * Processes: hosts and workers as they are started, die and are started again, with the real code of both.
 *
 * R1 A process that crashed starts again after a while as another incarnation; one whose start fails, too.
 * R2 Its tools' bodies act on the outside world through its own gate, so they die and wait with it.
 * R3 A host that drains ends when it is done, and starts again as one that crashed.
 */
import {
  type AnyBody,
  implement,
  NotPerformed,
  type PerformContext,
  type Tool,
} from "../../actors/contract/tool.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { type App, defineApp } from "../../services/app/app.ts";
import { startHost } from "../../services/host/host.ts";
import type { Log } from "../../services/process/log.ts";
import { type SeededChance, seededChance } from "../../services/memory/faults.ts";
import type { MemoryMesh, MemoryProcess } from "../../services/memory/mesh.ts";
import { atOnce } from "../../services/memory/reply.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { startWorker } from "../../services/worker/worker.ts";
import { aloneIn } from "../support/alone.ts";
import { deferredMs, isDeferred, tools, undoTools } from "./contracts.ts";
import type { Outside } from "./outside.ts";
import type { Profile } from "./profile.ts";
import { crowds, errand, journey, planner, replyOf, second } from "./sagas.ts";
import type { World } from "./world.ts";

export interface Crew {
  start(): void;
  /** Who still holds or does something, or is down. Empty: all is quiet. */
  busy(): string[];
  readonly crashes: () => number;
}

export interface CrewOptions {
  readonly mesh: MemoryMesh;
  readonly profile: Profile;
  readonly seed: number;
  readonly world: World;
  readonly outside: Outside;
  readonly log: Log;
}

interface Member {
  readonly name: string;
  readonly role: "host" | "worker";
  /** Among those of its role. */
  readonly place: number;
  life: number;
  process: MemoryProcess | undefined;
  load: () => number;
  /** Lets go of everything, as a process does that is asked to end. */
  drain: (graceMs: number) => Promise<void>;
}

const restartMs = { min: 50, max: 4_000 };

export function createCrew(options: CrewOptions): Crew {
  const { mesh, profile, seed } = options;
  const chance = seededChance(seed, "crew");
  const endsAt = mesh.clock.now() + profile.faults.until;
  const isRough = () => mesh.clock.now() < endsAt;
  let crashes = 0;
  const roster = (role: Member["role"], count: number): Member[] =>
    Array.from({ length: count }, (_, n) => ({
      name: `${role}-${n}`,
      role,
      place: n,
      life: 0,
      process: undefined,
      load: () => 0,
      drain: async () => undefined,
    }));
  const members = [...roster("host", profile.hosts), ...roster("worker", profile.workers)];

  const crash = (member: Member) => {
    if (member.process === undefined || !isRough() || crashes >= profile.crashesMax) return;
    crashes += 1;
    member.process.gate.crash();
    restart(member);
  };
  const restart = (member: Member) => {
    member.process = undefined;
    member.load = () => 0;
    mesh.clock.at(mesh.clock.now() + chance.between(restartMs.min, restartMs.max), () => launch(member));
  };
  /** R3 */
  const retire = async (member: Member) => {
    const { process } = member;
    if (process === undefined || !isRough()) return;
    await member.drain(chance.between(0, 1_500));
    if (member.process !== process) return;
    process.gate.crash();
    restart(member);
  };
  const launch = (member: Member) => {
    member.life += 1;
    const skewMs = profile.skewMs === 0 ? 0 : chance.between(-profile.skewMs, profile.skewMs);
    const process = mesh.spawn(member.name, { skewMs });
    member.process = process;
    process.gate.onCall((port, method, when) => {
      if (!isRough() || !isChange(port, method)) return;
      const isAppend = port === "ledger";
      if (when === "after" && port === "world") return; // Its own lost answers are enough.
      if (chance.happens(isAppend ? profile.crashAtAppend : profile.crashAtCall)) crash(member);
    });
    run(options, member, process, isRough).catch(() => {
      if (member.process === process) restart(member); // R1
    });
  };
  const blue = () => {
    if (!isRough()) return;
    mesh.clock.at(
      mesh.clock.now() + chance.between(profile.crashEveryMs / 2, profile.crashEveryMs * 1.5),
      () => {
        crash(chance.pick(members));
        blue();
      },
    );
  };
  const change = () => {
    if (!isRough()) return;
    const inMs = chance.between(profile.drainEveryMs / 2, profile.drainEveryMs * 1.5);
    mesh.clock.at(mesh.clock.now() + inMs, () => {
      void retire(chance.pick(members.filter(({ role }) => role === "host")));
      change();
    });
  };

  return {
    crashes: () => crashes,
    start: () => {
      for (const member of members) launch(member);
      if (profile.crashEveryMs > 0) blue();
      if (profile.drainEveryMs > 0) change();
    },
    busy: () =>
      members
        .filter(({ process, load }) => process === undefined || load() > 0)
        .map(({ name, life, load }) => `${name}#${life} holds ${load()}`),
  };
}

const isChange = (port: string, method: string): boolean =>
  ["append", "publish", "create", "ack", "nak", "schedule"].includes(method) || port === "world";

async function run(
  options: CrewOptions,
  member: Member,
  process: MemoryProcess,
  isRough: () => boolean,
): Promise<void> {
  const { ports, clock, chance } = process;
  const incarnation = process.gate.name;
  const common = {
    ports: options.profile.alone && member.role === "host" ? aloneIn(ports, incarnation) : ports,
    clock,
    chance,
    log: options.log,
    incarnation,
    callbackBase: "sagamesh:",
  };
  const app = appOf(options, member, process, isRough);
  if (member.role === "host") {
    const host = await startHost(common, app);
    member.load = host.resident;
    member.drain = host.stop;
  } else {
    const worker = await startWorker(common, app);
    member.load = worker.running;
  }
}

/** The application as one process serves it. */
function appOf(
  { mesh, profile, world, outside }: CrewOptions,
  { role, place }: Pick<Member, "role" | "place">,
  process: MemoryProcess,
  isRough: () => boolean,
): App {
  const chance = (process.chance as SeededChance).fork("bodies");
  const mishap = () => (isRough() && chance.happens(profile.mishap) ? chance.pick(mishaps) : undefined);
  const bodies = [...Object.values(tools), ...undoTools].map((tool) =>
    implement(tool as Tool, bodyOf({ now: mesh.clock.now, process, chance, world, outside, mishap }, tool)),
  );
  const pool = role === "host" ? (profile.pools?.[place] ?? "first") : "first";
  const first = [journey, errand, planner];
  return defineApp({
    sagas: [
      ...(pool === "second" ? [] : first),
      ...(pool === "first" ? [] : Object.values(second)),
      ...(profile.crowds > 0 && pool !== "second" ? [crowds.first] : []),
      ...(profile.crowds > 0 && pool !== "first" ? [crowds.second] : []),
    ],
    implementations: bodies,
    models: { script: modelOf(process, chance) },
  });
}

const mishaps = ["not performed", "threw before", "threw after", "hung", "nonsense"] as const;

interface BodyParts {
  /** The mesh's own time, which no process's clock is. */
  readonly now: () => number;
  readonly process: MemoryProcess;
  readonly chance: SeededChance;
  readonly world: World;
  readonly outside: Outside;
  readonly mishap: () => (typeof mishaps)[number] | undefined;
}

function bodyOf(
  { now, process, chance, world, outside, mishap }: BodyParts,
  tool: Tool,
): Omit<AnyBody, "accepts"> {
  const { gate, clock } = process;
  const ask = <T>(method: string, act: () => T) => gate.request("world", method, atOnce(act));
  const perform = async (
    given: unknown,
    { key, attempt, abort, defer, callbackUrl }: PerformContext,
  ): Promise<unknown> => {
    const input = given as { place: string; madeWithKey?: string };
    const wrong = mishap();
    await clock.sleep(chance.between(1, chance.happens(0.1) ? 1_200 : 80), abort);
    // What a body says it did not do, nobody else may have done under its key before.
    if (wrong === "not performed" && world.found(key) === undefined) throw new NotPerformed("not today");
    if (wrong === "threw before") throw new Error("threw before it acted");
    const asked = {
      ...{ sentAt: now(), tool: tool.name, effect: tool.effect, key, place: input.place },
      ...{ by: gate.name, attempt, undoes: input.madeWithKey },
    };
    if (isDeferred(tool.name)) {
      await ask(tool.name, () => outside.take(asked, callbackUrl));
      if (wrong === "threw after") throw new Error("threw after it acted");
      return defer({ withinMs: deferredMs });
    }
    const output = await ask(tool.name, () => world.act(asked));
    if (wrong === "threw after") throw new Error("threw after it acted");
    if (wrong === "hung") await clock.sleep(10_000, abort);
    await clock.sleep(chance.between(0, 40), abort);
    return wrong === "nonsense" && tool.effect === "once" ? { nonsense: true } : output;
  };
  if (tool.effect !== "probe") return { perform };
  return {
    perform,
    probe: async (key) => {
      await clock.sleep(chance.between(1, 60));
      const output = await ask("probe", () => world.found(key));
      return output === undefined ? { outcome: "did_not_happen" } : { outcome: "happened", output };
    },
  };
}

/** The scripted model at a distance: asking it takes time and may fail as the network does. */
function modelOf({ gate, clock }: MemoryProcess, chance: SeededChance): ModelPort {
  const script = scriptedModel("script", replyOf);
  return {
    name: "script",
    decide: async (request, context) => {
      await clock.sleep(chance.between(1, 150), context.abort);
      await gate.request(
        "model",
        "decide",
        atOnce(() => undefined),
      );
      return script.decide(request, context);
    },
  };
}
