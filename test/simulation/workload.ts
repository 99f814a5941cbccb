/**
 * Workload: what the clients of a run want, made up from the seed, and the process that asks for it.
 *
 * Each client message is sent until acked under its own Msg-Id; one without an id is sent once, since a
 * repeat would be another message.
 */
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { type SeededChance, seededChance } from "../../services/memory/faults.ts";
import { patiently } from "../../services/wire/patience.ts";
import type { ToolName } from "./contracts.ts";
import type { Profile } from "./profile.ts";
import { type Batch, type JourneyInput, type Stage, stages } from "./sagas.ts";
import type { SpeakingMesh } from "./speaking.ts";

/** A message to send at a time; without `id` it has neither Msg-Id nor Saga-Event. */
export interface Wish {
  readonly atMs: number;
  readonly subject: string;
  readonly body: unknown;
  readonly id?: string;
  readonly times: number;
}

export interface Workload {
  readonly sagas: readonly SagaId[];
  readonly wishes: readonly Wish[];
}

/** The sagas of a seed; `prefix` tells them apart from another seed's on the same mesh. */
export function createWorkload(
  seed: number,
  profile: Pick<Profile, "journeys" | "planners" | "lengthMax" | "cancel"> &
    Partial<Pick<Profile, "pools" | "crowds">>,
  prefix = "",
): Workload {
  const chance = seededChance(seed, "workload");
  const sagas: SagaId[] = [];
  const wishes: Wish[] = [];
  const versions = seededChance(seed, "versions");
  const begin = (name: string, input: object) => {
    const saga = parseSagaId(`${name}-${prefix}${sagas.length}`);
    sagas.push(saga);
    const version = profile.pools === undefined ? undefined : versions.pick([1, 2, undefined]);
    const start = { name, input, ...(version === undefined ? {} : { version }) };
    wishes.push(...wishesOf(chance, profile, saga, start));
  };
  for (let n = 0; n < profile.journeys; n++) begin("journey", journeyOf(chance, profile));
  for (let n = 0; n < profile.planners; n++) begin("planner", { plan: planOf(chance, profile) });
  for (let n = 0; n < (profile.crowds ?? 0); n++) begin("crowd", crowdInput(chance));
  return { sagas, wishes };
}

const crowdInput = (chance: SeededChance): JourneyInput => ({
  todo: Array.from({ length: chance.between(3, 7) }, () => chance.pick(["money", "mixed", "here", "pause"])),
  strict: chance.happens(0.5),
  pauseMs: chance.between(20, 1_500),
  errand: [],
});

const several = <T>(chance: SeededChance, list: readonly T[], max: number): T[] =>
  Array.from({ length: chance.between(1, max) }, () => chance.pick(list));

const heavier: readonly Stage[] = ["money", "mixed", "here", "fees", "order", "child", "spend"];

const journeyOf = (chance: SeededChance, { lengthMax }: Pick<Profile, "lengthMax">): JourneyInput => ({
  todo: [chance.pick(heavier), ...several(chance, Object.keys(stages), lengthMax - 1)],
  strict: chance.happens(0.5),
  pauseMs: chance.between(20, 1_500),
  errand: several(chance, ["money", "mixed", "here", "pause"], 2),
});

const callable: readonly ToolName[] = ["look", "peek", "book", "hold", "reserve", "charge", "deposit", "fee"];

const planOf = (chance: SeededChance, { lengthMax }: Pick<Profile, "lengthMax">): Batch[] =>
  Array.from({ length: chance.between(1, lengthMax) }, (_, n): Batch => {
    const drawn = chance.random();
    if (n === 0 || drawn < 0.5) return { calls: several(chance, callable, 3) };
    if (drawn < 0.65) return { wait: chance.between(100, 2_000) };
    if (drawn < 0.75) return { child: [chance.pick(["money", "mixed", "here"])] };
    return { reserved: chance.pick(["ask", "undo", "nonsense"]) };
  });

function wishesOf(
  chance: SeededChance,
  profile: Pick<Profile, "cancel">,
  saga: SagaId,
  start: { name: string; version?: number; input: object },
): Wish[] {
  const startAtMs = chance.between(0, 400);
  const wishes: Wish[] = [
    {
      atMs: startAtMs,
      subject: subjects.start(saga),
      body: start,
      id: "start",
      times: chance.pick([1, 1, 2]),
    },
  ];
  const signal = (name: string, body: unknown, atMs: number, id: string | undefined) =>
    wishes.push({
      atMs,
      subject: subjects.signal(saga, name),
      body,
      times: id === undefined ? 1 : chance.pick([1, 1, 2]),
      ...(id === undefined ? {} : { id }),
    });
  if (chance.happens(0.15))
    wishes.push({
      atMs: startAtMs + chance.between(200, 4_000),
      subject: subjects.start(saga),
      body: { ...start, input: { ...start.input, another: true } },
      id: "other",
      times: 1,
    });
  // One in four before the start, and some without an id of their own.
  const when = () =>
    chance.happens(0.25) ? chance.between(0, startAtMs) : startAtMs + chance.between(0, 5_000);
  for (let n = chance.between(0, 2); n > 0; n--) signal("go", { n }, when(), `go-${n}`);
  if (chance.happens(0.4)) signal("note", { text: "without an id" }, when(), undefined);
  if (chance.happens(0.3)) signal("note", { text: "same id everywhere" }, when(), "note");
  if (chance.happens(0.15)) signal("change", { reason: "changed" }, when(), "change");
  if (chance.happens(profile.cancel))
    signal("cancel", { reason: "cancelled" }, startAtMs + chance.between(0, 6_000), "cancel");
  return wishes;
}

/** Sends the wishes, each at its time. Calls back as each is acked, with the sequence it was stored under. */
export function startClient(mesh: SpeakingMesh, { wishes }: Workload): { isQuiet(): boolean } {
  const { ports, clock } = mesh.spawn("client");
  let busy = 0;
  const send = async ({ subject, body, id, times }: Wish): Promise<void> => {
    const saga = subject.split(".")[1] ?? "";
    const ids = id === undefined ? {} : { msgId: `${saga}:client:${id}` };
    const fields: Record<string, string> = id === undefined ? {} : { [headers.event]: id };
    const message: Parameters<typeof ports.inbox.publish>[0] = {
      subject,
      data: Buffer.from(JSON.stringify(body)),
      headers: fields,
      ...ids,
    };
    if (id === undefined) {
      await ports.inbox.publish(message).catch(() => undefined); // Nobody knows whether it was stored; see above.
      return;
    }
    for (let sent = 0; sent < times; sent++) {
      // The second time as another client would: under another Msg-Id, with the same id for the saga.
      const again = sent === 0 ? message : { ...message, msgId: `${message.msgId ?? ""}:${sent}` };
      await patiently(clock, () => ports.inbox.publish(again), { patienceMs: Number.POSITIVE_INFINITY });
      await clock.sleep(200 * sent);
    }
  };
  for (const wish of wishes) {
    busy += 1;
    mesh.clock.at(mesh.clock.now() + wish.atMs, () => void send(wish).finally(() => (busy -= 1)));
  }
  return { isQuiet: () => busy === 0 };
}
