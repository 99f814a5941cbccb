/** Junk: bytes that mean nothing, or nearly something, on every subject and in every bucket. */
import { setTimeout as delay } from "node:timers/promises";
import { buckets, headers, subjects } from "../../../protocol/subjects.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { tools } from "../../simulation/contracts.ts";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";
import { entrySubject, chunkSubject } from "../../../services/nats/streams.ts";
import type { Attack, Field } from "../attack.ts";

const bytes = (chance: SeededChance): Buffer =>
  Buffer.from(Array.from({ length: chance.between(0, 60) }, () => chance.between(0, 255)));

/** From noise to what a reader of its subject nearly takes. */
const bodies: readonly ((chance: SeededChance) => Buffer)[] = [
  () => Buffer.alloc(0),
  bytes,
  () => Buffer.from("null"),
  () => Buffer.from('{"v":1}'),
  () => Buffer.from('{"outcome":"succeeded"}'),
  () => Buffer.from('{"by":"eve","vote":"approve"}'),
  () => Buffer.from('{"name":"planner","input":{"plan":"none"}}'),
  () => Buffer.from('{"name":"nobody","input":{}}'),
  (chance) => Buffer.concat([Buffer.from('{"by":"'), bytes(chance)]),
];

const odd: readonly Readonly<Record<string, string>>[] = [
  {},
  { [headers.contentType]: "application/vnd.msgpack" },
  { [headers.contentType]: "text/plain", [headers.attempt]: "-1" },
  { [headers.event]: "", [headers.saga]: "..", [headers.turn]: "NaN" },
  { [headers.definition]: "0".repeat(64), [headers.agent]: "nobody" },
  { traceparent: "00-zz" },
];

const inboxOf = (saga: SagaId, chance: SeededChance): readonly string[] => {
  const intent = `${chance.between(0, 3)}-${chance.between(0, 2)}` as IntentId; // Proof: of an id's form.
  return [
    subjects.start(saga),
    subjects.signal(saga, chance.pick(["go", "note", "nothing", "pause", "migrate"])),
    subjects.result(saga, intent),
    subjects.task(saga, intent),
    subjects.timerTarget(saga, intent),
    subjects.timer(saga, intent),
    `saga.${saga}.result.nonsense`,
    "saga.not$an_id.start",
  ];
};

const workOf = (chance: SeededChance): string => {
  const tool = chance.pick(Object.values(tools));
  return subjects.work({ name: tool.name, contract: contractDigest(tool) });
};

/** What nobody of the workload writes, but for a snapshot: that is a saga's of the attacker. */
const bucketsOf = (saga: SagaId, chance: SeededChance): readonly string[] => [
  entrySubject(buckets.claim, `junk.${chance.between(0, 99)}`),
  entrySubject(buckets.snapshot, saga),
  entrySubject(buckets.hosts, `junk-${chance.between(0, 99)}`),
  entrySubject(buckets.throttle, chance.pick(["model.script", "tool.charge", "tool.nobody"])),
  entrySubject(buckets.suspect, `junk-${chance.between(0, 99)}`),
  entrySubject(buckets.registry, chance.pick(["deployments", "definition.junk", "junk"])),
  entrySubject(
    buckets.listing,
    chance.pick([`failed.rests.planner.${saga}`, "running.asks.nobody.junk", "junk"]),
  ),
  chunkSubject("junk"),
  `$O.${buckets.blob}.M.${Buffer.from("junk").toString("base64url")}`,
];

/** A subject of each kind that a stream keeps, but for ledgers: what is put there is `foreign.ts`. */
export const storedTargets = (saga: SagaId, chance: SeededChance): readonly string[] => [
  ...inboxOf(saga, chance),
  ...bucketsOf(saga, chance),
  workOf(chance),
  subjects.dead("inbox", saga),
  subjects.dead("work", `junk-${chance.between(0, 99)}`),
];

async function strike(field: Field, chance: SeededChance): Promise<void> {
  const saga = field.nameSaga("planner");
  await field.begin(saga, { plan: [{ calls: ["book"] }, { wait: 3_600_000 }] });
  await field.until("begun", saga);
  for (let n = 0; n < 24 && !field.over.aborted; n++) {
    const subject = chance.pick(storedTargets(saga, chance));
    await field.store(subject, chance.pick(bodies)(chance), chance.pick(odd));
    const hosts = await field.ports.membership.hosts();
    for (const quiet of [subjects.live(saga, "junk"), ...hosts.map(({ host }) => subjects.hop(host))])
      field.shout(quiet, chance.pick(bodies)(chance));
    await delay(chance.between(0, 100));
  }
}

export const attack: Attack = {
  name: "junk",
  does: "puts noise, and what nearly is a message, on every subject and in every bucket",
  everyMs: 8_000,
  short: true,
  strike,
};
