/* eslint-disable no-template-curly-in-string -- the words of our own source hold templates */
/**
 * Plants: the rules of the protocol, each broken in the product's own source. planted-faults.e2e.test.ts shows that
 * the simulator finds every one; what it could not find, it would not find in a real mistake either.
 *
 * Rules that are not here, and why:
 *
 * | rule | why no run can show it broken |
 * |---|---|
 * | a known input is acked only after a turn that proves the reader's view | 4,000 rough seeds do not show it: it takes a host that lost a saga and does not know, a repeat it knows, and the death of the new owner before its work is recorded |
 * | a claim's Msg-Id holds the nonce | the port says who holds the claim by its content; test/contract holds both adapters to it |
 * | a caller's Msg-Id begins with the saga's id | it is the client's; the same fault in a result's Msg-Id is planted |
 * | a fenced host reports how its effects end | without the report an effect is in doubt, which is true, and is undone or asked about |
 * | a result of a lagging reader is put back | the turn that proves the reader's view refuses it as well; planted together with that turn |
 * | a child's id is a hash of its parent's intent | no two of the simulated parents ask for one child |
 * | nothing is begun after a fence | what is begun is held to its claim or its key |
 * | a saga that leaves is acked only when its host's work is reported | the moment is too short for chance; test/services/host/handover.test.ts drains at each call in turn |
 * | who stood still begins and appends nothing | the compare-and-set refuses most of it as well; the same test holds the rest |
 * | a start that is handed on is not chosen anew | here all who would choose choose alike; test/services/host/routing.test.ts |
 * | a guest goes home | who stays is fenced by the compare-and-set, which costs time alone; the same test |
 * | what got no answer is left to its lease | given back, it is at two hosts, and the compare-and-set refuses one |
 * | what was handed on is not handed on again | the port refuses it: test/contract/hop.contract.ts |
 * | a late claim is asked about after it is won, not before | the moment is too short for chance; test/model/claims.ts breaks it |
 * | claims stay while a call of their saga lies in WORK | it is for workers of former versions; test/services/archive/left.test.ts |
 * | a snapshot counts only with its turn's hash | a ledger never loses a turn here |
 */
import { listingPlants } from "./listing-plants.ts";
import type { Plant } from "./planted-rule.ts";

const activation = "services/host/activation.ts";
const turn = "services/host/turn.ts";
const inputs = "services/host/inputs.ts";
const routing = "services/host/routing.ts";
const turnMessage = "services/host/turn-message.ts";
const performing = "services/perform/perform.ts";
const claim = "services/perform/claim.ts";
const worker = "services/worker/worker.ts";
const accepting = "actors/kernel/accept.ts";

export const plants: readonly Plant[] = [
  // Appending
  {
    name: "turn by number",
    rule: "a refused append is ours only if the stored turn has our hash",
    edits: [
      {
        file: "services/host/refused.ts",
        find: "next?.head.hash === message.hash",
        replace: "next !== undefined",
      },
    ],
  },
  {
    name: "foreign taken for a fence",
    from: 5,
    rule: "what does not chain is no turn of another host",
    edits: [
      {
        file: "services/host/refused.ts",
        find: "since.seq = lastSeq;\n  return undefined;",
        replace: 'return { type: "fenced" };',
      },
    ],
  },
  {
    name: "last message believed",
    rule: "whose a saga is follows from its turns, not from what stands last on its subject",
    edits: [
      {
        file: "services/ledger/known-turns.ts",
        find: "if (last === undefined) return undefined;",
        replace:
          "if (last === undefined || source.ledger !== undefined) return last && definitionTold(last);",
      },
    ],
  },
  {
    name: "append without compare",
    rule: "a turn is appended by compare-and-set on its predecessor",
    edits: [
      { file: turnMessage, find: "expectedSeq: after.seq,", replace: "expectedSeq: undefined as never," },
    ],
  },
  {
    name: "performed before the ack",
    rule: "an intent is performed only after the turn that holds it is acked",
    edits: [
      {
        file: turn,
        find: "if (turn === undefined || isGone(self) || !(await append(self, own, turn))) return;",
        replace:
          "if (turn === undefined || isGone(self)) return;\n  own.loaded = { ...own.loaded, state: own.loaded.state ?? turn.decided.state };\n  for (const open of intentsToDispatch(turn.decided, turn.batch.events)) own.hands.handOn(open);\n  if (!(await append(self, own, turn))) return;",
      },
    ],
  },
  // Owning
  {
    name: "acked on receipt",
    rule: "un-acked inputs are the saga's lease",
    edits: [
      {
        file: turn,
        find: "const course = usualCourse(self, read) ?? (await detour(self, read));",
        replace:
          "await self.inputs.ackHeld();\n  const course = usualCourse(self, read) ?? (await detour(self, read));",
      },
    ],
  },
  {
    name: "acked with its own turn",
    rule: "inputs are acked only when no own intent is open and all others are handed on",
    edits: [
      {
        file: activation,
        find: "if (!own.hands.isEmpty()) return false;\n  return !own.isProven || ownWorkOf(own.loaded.state, self.deps.placementOf).length === 0;",
        replace: "return true;",
      },
    ],
  },
  {
    name: "fenced host acks",
    from: 12,
    rule: "a fenced host gives back what it holds",
    edits: [
      {
        file: inputs,
        find: "Promise.all([...deliveries].map((delivery) => nakDelivery(delivery, delayMs)))",
        replace:
          "Promise.all([...deliveries].map((delivery) => (delayMs === undefined ? ackDelivery(delivery) : nakDelivery(delivery, delayMs))))",
      },
    ],
  },
  {
    name: "known input acked",
    rule: "a known input obliges its receiver to hand on every open intent",
    edits: [
      {
        file: turn,
        find: 'aside.some(({ item, judged }) => judged.type === "known" && item.from === "inbox");',
        replace: "Number(aside.length) < 0;",
      },
    ],
  },
  {
    name: "taken over without handing on",
    rule: "who takes a saga over hands on everything open",
    edits: [
      {
        file: turn,
        find: "isTakeover ? Object.values(state.open) : intentsToDispatch(decided, batch.events)",
        replace: "intentsToDispatch(decided, batch.events)",
      },
    ],
  },
  {
    name: "one input an intent",
    from: 34,
    rule: "inputs of one intent that come together are judged one after the other",
    edits: [
      {
        file: turn,
        find: 'if (judged.type === "later") self.inputs.put(item);',
        replace: 'if (judged.type === "later") continue;',
      },
    ],
  },
  // Inputs
  {
    name: "early signal set aside",
    rule: "an input for a saga without a ledger is offered again for an hour",
    edits: [
      {
        file: "services/host/detour.ts",
        find: "await inputs.putBackOrRefuse(delivery, earlyDelayMs(delivery), error);",
        replace: "await inputs.refuse(delivery, error);",
      },
    ],
  },
  {
    name: "set aside after two deliveries",
    rule: "no input is set aside for having been delivered often",
    edits: [
      {
        file: "services/host/partitions.ts",
        find: "residents.of(address.saga, partition).offer(delivery, address);",
        replace:
          'if (delivery.deliveries > 2) setAside(deps, delivery, new MeshError("BAD_MESSAGE", "delivered too often"));\n    else residents.of(address.saga, partition).offer(delivery, address);',
      },
      {
        file: "services/host/partitions.ts",
        find: "import { isMeshError } from",
        replace: "import { isMeshError, MeshError } from",
      },
    ],
  },
  {
    name: "deposed leader believed",
    from: 1456,
    rule: "what the ledger seems not to know is offered again: who says so may lead no more",
    edits: [
      {
        file: "services/host/detour.ts",
        find: "await self.inputs.putBackOrRefuse(item.delivery, limits.earlyInputDelayMs, error, forMs);",
        replace: "await self.inputs.refuse(item.delivery, error);",
      },
    ],
  },
  {
    name: "late result dropped",
    from: 53,
    rule: "a definite result for an intent in doubt is a turn in every state",
    edits: [
      {
        file: accepting,
        find: "if (doubt !== undefined && corrects({ definition, state }, doubt, event))\n    return correction(definition, state, doubt, event);",
        replace: "",
      },
    ],
  },
  {
    name: "dedup by time",
    rule: "repeats are known by their ids, not by their age",
    edits: [
      {
        file: accepting,
        find: "if (wasSeen(state, event) || isMovedTo(state, event))",
        replace: "if (event.sentAt < state.updatedAt)",
      },
    ],
  },
  {
    name: "signal ids forgotten",
    rule: "a signal's id is kept in the envelope",
    edits: [
      {
        file: accepting,
        find: "if (wasSeen(state, event) || isMovedTo(state, event))",
        replace: "if (isMovedTo(state, event))",
      },
    ],
  },
  {
    name: "other start ignored",
    rule: "a start that finds its saga under another input is answered",
    edits: [
      {
        file: accepting,
        find: 'return same && state.parent?.saga === event.parent?.saga ? { type: "known" } : { type: "taken" };',
        replace: 'return { type: "known" };',
      },
    ],
  },
  {
    name: "own attempt alone",
    rule: "a success counts for every later attempt of its intent",
    edits: [
      {
        file: "actors/kernel/settle.ts",
        find: '|| (attempt < open.attempt && result.outcome === "succeeded")',
        replace: "",
      },
    ],
  },
  {
    name: "timer by saga",
    rule: "a timer is known by its intent",
    edits: [
      {
        file: "services/host/dispatch.ts",
        find: "intent: open.intent.id,\n    dueAt,",
        replace: 'intent: "1-0" as never,\n    dueAt,',
      },
    ],
  },
  // Performing
  {
    name: "once without claim",
    rule: "a once attempt is performed only by the holder of its claim",
    edits: [
      {
        file: performing,
        find: 'case "once": {',
        replace:
          'case "once": {\n      if (tool.placement === "worker") return runBody(run, deps.clock.now() + tool.timeoutMs, false);',
      },
    ],
  },
  {
    name: "once in the host without claim",
    rule: "a host claims as a worker does",
    edits: [
      {
        file: performing,
        find: 'case "once": {',
        replace:
          'case "once": {\n      if (tool.placement === "host") return runBody(run, deps.clock.now() + tool.timeoutMs, false);',
      },
    ],
  },
  {
    name: "claim by process",
    from: 131,
    rule: "a claim is held by a delivery, not by a process",
    edits: [
      {
        file: claim,
        find: "const nonce = deps.chance.nonce();",
        replace: "const nonce = ((deps.chance as { own?: string }).own ??= deps.chance.nonce());",
      },
    ],
  },
  {
    name: "doubt at once",
    from: 670,
    rule: "who is not the holder waits until the holder cannot act any more",
    edits: [{ file: claim, find: "await outlast(deps, claim.claimedAt, timeoutMs, signal);", replace: "" }],
  },
  {
    name: "takeover without claim",
    from: 785,
    rule: "of several who wait for a probe's holder one goes on",
    edits: [
      {
        file: claim,
        find: 'if (claim.type === "won") return',
        replace:
          'if (claim.type === "held") return { actUntil: deps.clock.now() + request.timeoutMs, isFirst: false };\n    if (claim.type === "won") return',
      },
    ],
  },
  {
    name: "late claim believed",
    world: "late",
    rule: "who wins a claim for what was decided long ago asks the ledger whether it is asked for still",
    edits: [
      { file: claim, find: "(await deps.stillAsked?.(request, signal)) === false", replace: "timeoutMs < 0" },
    ],
  },
  {
    name: "tombstone alone asked",
    world: "late",
    rule: "a late call is performed only where it is open by its ledger, for a deposed leader may lack the tombstone",
    edits: [
      {
        file: "services/perform/still-asked.ts",
        find: 'return told?.attempt === attempt && told.intent.kind === "tool" && told.intent.key === key;',
        replace: "return told?.attempt !== -1 || key === intent;",
      },
    ],
  },
  {
    name: "claims taken away at once",
    world: "late",
    rule: "the claims of an archived saga go after the horizon",
    edits: [
      { file: "services/archive/left.ts", find: "if (lastAt >= horizonAt) return false;", replace: "" },
    ],
  },
  {
    name: "takeover without asking",
    rule: "a probe takeover asks the outside first",
    edits: [{ file: performing, find: "!claim.isFirst || attempt.attempt > 1", replace: "false" }],
  },
  {
    name: "once tried again",
    rule: "what a once tool throws is in doubt",
    edits: [
      {
        file: "services/perform/outcome.ts",
        find: 'return tool.effect === "once" ? inDoubt(code, reason) : failed(code, reason, true);',
        replace: "return failed(code, reason, true);",
      },
    ],
  },
  {
    name: "key by attempt",
    rule: "an effect's key is the same for every attempt",
    edits: [
      {
        file: "services/host/dispatch.ts",
        find: "key: intent.key,",
        replace: "key: `${intent.key}-${attempt}`,",
      },
    ],
  },
  {
    name: "work acked first",
    rule: "a work delivery is acked after its result is acked",
    edits: [
      {
        file: worker,
        find: "return nakDelivery(delivery);\n  await publishResult(deps, { ...work, call: delivery.seq }, performed, deps.signal);",
        replace:
          "return nakDelivery(delivery);\n  await ackDelivery(delivery);\n  await publishResult(deps, { ...work, call: delivery.seq }, performed, deps.signal);",
      },
    ],
  },
  {
    name: "work given up in silence",
    from: 21,
    rule: "past the limit of deliveries a result is published",
    edits: [
      {
        file: worker,
        find: "const waitMs = (work.notBefore ?? 0)",
        replace:
          "if (delivery.deliveries > 2) return ackDelivery(delivery);\n  const waitMs = (work.notBefore ?? 0)",
      },
    ],
  },
  {
    name: "work without attempt",
    rule: "a work message's Msg-Id holds the attempt",
    edits: [
      {
        file: "services/host/dispatch.ts",
        find: "msgId: msgIdOf(deps, `${saga}:${intent.id}:${attempt}`, open),",
        replace: "msgId: `${saga}:${intent.id}`,",
      },
    ],
  },
  {
    name: "result without outcome",
    rule: "a result's Msg-Id holds attempt and outcome",
    edits: [
      {
        file: "services/perform/publish-result.ts",
        find: "msgId: `${saga}:result:${id}`,",
        replace: "msgId: `${saga}:result:${intent}`,",
      },
    ],
  },
  {
    name: "result without saga",
    rule: "dedup is stream-wide, so a Msg-Id begins with its saga",
    edits: [
      {
        file: "services/perform/publish-result.ts",
        find: "msgId: `${saga}:result:${id}`,",
        // Of what else it holds the key's end and the call's sequence tell most sagas apart, too.
        replace: "msgId: `result:${intent}:${attempt}:${said.outcome}`,",
      },
    ],
  },
  // From host to host
  {
    name: "acked before it is handed on",
    rule: "what is handed on stays un-acked until its receiver has settled it",
    edits: [
      {
        file: routing,
        find: "const isTaken = await ports.inbox.handOn(host, delivery, textOfDefinition(definition));",
        replace:
          "const giving = ports.inbox.handOn(host, delivery, textOfDefinition(definition));\n      await delivery.ack();\n      const isTaken = await giving;",
      },
    ],
  },
  {
    name: "acked once it was handed on",
    rule: "what is handed on is its receiver's to ack",
    edits: [
      {
        file: routing,
        find: "if (!isTaken) await nakDelivery(delivery, earlyDelayMs(delivery));",
        replace:
          "if (!isTaken) await nakDelivery(delivery, earlyDelayMs(delivery));\n      else await delivery.ack();",
      },
    ],
  },
  {
    name: "handed on and given back",
    from: 29,
    rule: "what is handed on is its receiver's to give back",
    edits: [
      {
        file: routing,
        find: "if (!isTaken) await nakDelivery(delivery, earlyDelayMs(delivery));",
        replace: "await nakDelivery(delivery);",
      },
    ],
  },
  {
    name: "handed on and prolonged",
    from: 26,
    rule: "what is handed on is its receiver's to prolong, and comes back if that dies",
    edits: [
      {
        file: routing,
        find: "if (!isTaken) await nakDelivery(delivery, earlyDelayMs(delivery));",
        replace:
          "if (!isTaken) await nakDelivery(delivery, earlyDelayMs(delivery));\n      else for (let beat = 1; beat < 300; beat++) clock.after(beat * 900, () => delivery.working());",
      },
    ],
  },
  {
    name: "handed on to any host",
    rule: "an input goes to a host that serves its saga's definition",
    edits: [
      {
        file: "services/deployments/choose.ts",
        find: "!draining && serves.some((served) => isSameDefinition(served, ref))",
        replace: "!draining && serves.length > 0 && ref.name !== undefined",
      },
    ],
  },
  {
    name: "taken by any host",
    rule: "a host takes only what it serves",
    edits: [
      {
        file: "services/deployments/choose.ts",
        find: "!draining && serves.some((served) => isSameDefinition(served, ref))",
        replace: "!draining && serves.length > 0 && ref.name !== undefined",
      },
      {
        file: "services/host/guests.ts",
        find: "if (definition === undefined || app.definition(definition) === undefined || !mayTake()) return false;",
        replace: "if (definition === undefined || !mayTake()) return false;",
      },
    ],
  },
  {
    name: "handed on by an old list",
    from: 8,
    rule: "each input is routed by the hosts that live now",
    edits: [
      {
        file: routing,
        find: "hostFor(definition, partitionOf(first.subject), roster.hosts())?.host",
        replace:
          "hostFor(definition, partitionOf(first.subject), ((roster as { once?: readonly LivingHost[] }).once ??= roster.hosts()))?.host",
      },
    ],
  },
  {
    name: "start chosen before its ledger is asked",
    from: 157,
    rule: "a repeated start goes where its saga is",
    edits: [
      {
        file: inputs,
        find: "const present = await presentDefinitionOf(deps, saga);",
        replace: "const present = (await Promise.resolve(undefined)) as DefinitionRef | undefined;",
      },
    ],
  },
  // Deciding and ending
  {
    name: "cancel marks open effects",
    rule: "a recorded tool intent ends by its own result",
    edits: [
      {
        file: "actors/kernel/undo.ts",
        find: 'kind === "model" || kind === "timer" || kind === "task" || isRead(f, open) || isNotice(open);',
        replace: 'kind === "model" || kind === "timer" || kind === "task" || kind === "tool";',
      },
    ],
  },
  {
    name: "dispatched calls superseded",
    from: 15,
    rule: "only a model decision can be superseded",
    edits: [
      {
        file: "actors/kernel/issue.ts",
        find: "import { type Folding, inputOrCall,",
        replace: "import { closedAs, closeIntent, type Folding, inputOrCall,",
      },
      {
        file: "actors/kernel/issue.ts",
        find: "      return askModel(f, callable, actor, input);",
        replace: `      for (const [old, open] of f.definition.kind.decision === undefined ? [] : Object.entries(f.state.open)) {
        if (open.intent.kind !== "tool" || open.intent.undoes !== undefined || open.actor === undefined) continue;
        closeIntent(f, old, closedAs("superseded"));
        const id = newId(f);
        const key = \`\${open.intent.key}-again\`;
        openIntent(f, { ...open, attempt: 1, intent: { ...open.intent, id, key } });
      }
      return askModel(f, callable, actor, input);`,
      },
    ],
  },
  {
    name: "in line and handed on",
    profile: { crowds: 2, journeys: 0, planners: 0 },
    rule: "a child in line is told to nobody before a turn says that it begins",
    edits: [
      {
        file: "services/host/hands.ts",
        find: "if (loaded === undefined || isInLine(open)) return;",
        replace: "if (loaded === undefined || (isInLine(open) && open.attempt > 1)) return;",
      },
    ],
  },
  {
    name: "one place too many",
    profile: { crowds: 2, journeys: 0, planners: 0 },
    rule: "no more children run at once than there are places",
    edits: [
      {
        file: "actors/kernel/line.ts",
        find: "if (children >= placesOf(f)) break;",
        replace: "if (children > placesOf(f)) break;",
      },
    ],
  },
  {
    name: "a line that stands",
    profile: { crowds: 2, journeys: 0, planners: 0 },
    rule: "a child that ends lets the first in line begin",
    edits: [
      {
        file: "actors/kernel/fold.ts",
        find: "else if (advanceLine(f)) most",
        replace: "else if (moves > 1_000 && advanceLine(f)) most",
      },
    ],
  },
  {
    name: "ends with open intents",
    from: 80,
    rule: "no saga ends while an effect is open",
    edits: [
      {
        file: "actors/kernel/end.ts",
        find: "if (openIndex(f).size > 0) return false;\n  const { ending }",
        replace: "f.state.open = {};\n  const { ending }",
      },
    ],
  },
  {
    name: "late success left standing",
    from: 305,
    rule: "a late success joins the set to undo",
    edits: [
      {
        file: "actors/kernel/doubt.ts",
        find: "if (!isOver && !isBefore(id, f.state.undoneBefore)) return;",
        replace: "if (Number(isOver) + id.length > 0) return;",
      },
    ],
  },
  {
    name: "unclear failure taken for none",
    rule: "an attempt that may have got through and is the last is undone by its key",
    edits: [{ file: "actors/kernel/settle.ts", find: "|| mayHaveHappened(result);", replace: ";" }],
  },
  {
    name: "deferred for ever",
    rule: "the attempt after a deferred one is performed anew",
    edits: [
      {
        file: "actors/kernel/retry-attempt.ts",
        find: "const { deferred: _deferred, dueAt: _dueAt, ...rest } = open;",
        replace: "const rest = open;",
      },
    ],
  },
  {
    name: "folds by the clock",
    rule: "the state is a fold of the ledger and nothing else",
    edits: [
      {
        file: "actors/kernel/asking.ts",
        find: "const dueAt = f.at + withinMs;",
        replace: "const dueAt = f.at + withinMs + Math.floor(Math.random() * 1000);",
      },
    ],
  },
  ...listingPlants,
];
