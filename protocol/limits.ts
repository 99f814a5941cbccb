/**
 * Limits: every bound with its unit and its reason. Relations between bounds are asserted when this file loads.
 */
import { assert } from "./errors.ts";

/**
 * The bounds: `…Ms` in milliseconds, `…Bytes…` in bytes, `…Characters…` in UTF-16 units, `…Tokens` in tokens, all others
 * counts. Nothing in an application or on a command line raises one that says otherwise here.
 */
export const limits = {
  /** Values over this go to the content-addressed store and a reference takes their place. */
  inlineBytesMax: 64 * 1024,
  /** A message under the server's default max_payload of 1 MiB, with room for headers. */
  messageBytesMax: 1024 * 1024 - 16 * 1024,
  /** Nesting of a message from outside; deeper ones could overflow the stack of a recursive walk. */
  nestingMax: 100,
  /**
   * Nesting of one value at every door. A turn writes it up to seven levels deeper and a machine may wrap it some more;
   * all of that is still read (`nestingMax`).
   */
  valueDepthMax: 64,
  /** Nesting of what a saga made of its values and tells its parent: the message around it is still read. */
  toldDepthMax: 90,
  /** Items and members of one value: schema, hash and encoding each walk all of it, some 10 ms a walk. */
  valueMembersMax: 100_000,
  /** A member's name: a path of a file system is as long. Errors and paths repeat it. */
  keyBytesMax: 4 * 1024,
  /**
   * Nesting of what this mesh has written itself. Before values were bounded they were written up to 4,200 levels deep
   * (`JSON.stringify` writes no deeper), and a ledger is read for ever.
   */
  ownNestingMax: 10_000,
  /** Steps in one turn: bounds the size of a message when thousands of signals wait at once. */
  stepsPerTurnMax: 64,
  /** Of a machine's lines that its saga keeps on the ledger: all of one turn together, and one of them. */
  loggedCharactersMax: 8_192,
  loggedLineCharactersMax: 1_024,
  /** A machine's microsteps per event: an `always` loop ends here with an error instead of hanging. */
  microstepsMax: 1_000,
  /** Events the machine takes on one input: a state that asks again at once for what is refused ends here. */
  movesPerEventMax: 2_000,
  /** Long work in pieces gives way after so long: with a piece that is begun just before, the loop is held for less than 50 ms. */
  loopHeldMs: 10,
  /** A saga whose turn takes longer to decide takes fewer inputs with the next: half of what a loop may be held at once. */
  turnHeldMs: 25,
  /** The farthest a timer or a deadline may lie ahead: 100 years, which every server can write as a date. */
  timerMaxMs: 100 * 365 * 86_400_000,
  /** A saga that goes on is listed so soon; one that rests or ends before that, as most do, is written once. */
  listedWithinMs: 250,
  /** How long a host tries to write a row before it says that it owes one, and goes on. */
  listingPatienceMs: 2_000,
  /** The listing is said to be whole up to a later place this often: so much of the ledgers is read again after its keeper died. */
  listingMarkEveryMs: 10_000,
  /** How long an un-acked inbox message waits before another host gets it: the lease of a running saga. */
  inboxAckWaitMs: 3_000,
  /** Three heartbeats fit into the lease, so one may be lost. */
  inboxHeartbeatMs: 900,
  /** A heartbeat that comes so late is of a host that gets too little of its machine: half of one. */
  strainedMs: 450,
  /** Heartbeats in time before such a host takes twice as much again. */
  pulsesInTime: 5,
  /** The share of its bounds that it takes at least. */
  strainedShareMin: 1 / 16,
  /** It says so this often at most. */
  strainSaidEveryMs: 30_000,
  /** How long back a host's load is measured: so many milliseconds ago counts for a third. */
  loadOverMs: 20_000,
  /** Of a host's loop or hands in use, over that time: what comes has to wait from here on. */
  overloaded: 0.85,
  /** And so little that twice as much would not be too much. */
  relaxed: 0.4,
  /** Between two steps of a host's weight, and after a change of its share: a load takes half of this to show what a step brought. */
  shedEveryMs: 60_000,
  /** How often it is halved at most. */
  halvedMax: 3,
  /** How long it stays halved at least, and at most after it came back in vain. */
  regainAfterMs: 120_000,
  regainAfterMsMax: 3_600_000,
  /** A host that wrote no heartbeat for this long is dead: its partitions go to others. */
  hostTtlMs: 2_000,
  hostBeatMs: 600,
  /** How often a host looks whether another one is still there, between two beats: a question that costs a message. */
  hostWatchMs: 200,
  /** How long a host may not be heard at its server before it counts as dead: a client that lost the connection dials again within 250 ms. */
  unheardMs: 350,
  /** Inputs of one partition that a host holds un-acked; the rest waits in the stream. */
  inFlightPerPartitionMax: 512,
  /** Sagas that a host has begun and that are not at rest: about 70 KB of its memory each. */
  sagasPerHostMax: 2_000,
  /** Model calls and host-placed tools that one host has in flight: each may hold a connection and a buffer. */
  effectsPerHostMax: 256,
  /** Calls of one tool that a worker process holds un-acked; it asks for more while it has less. */
  inFlightPerToolMax: 64,
  workAckWaitMs: 5_000,
  workHeartbeatMs: 1_500,
  /** The server's window for Msg-Ids. It only spares the transport; the ledger is what deduplicates. */
  duplicateWindowMs: 120_000,
  /** A signal's id is remembered for this long after it was taken, and an older signal is refused. */
  signalHorizonMs: 7 * 86_400_000,
  /**
   * A call that was decided so long ago is asked about once its claim is won: the claims of an archived saga go after the horizon
   * (services/archive/left.ts). Between the two lies what clocks may differ by, and how long a request takes.
   */
  lateCallMs: 86_400_000,
  /** A tombstone may be taken away after this at the earliest, by an operator's word: after that its id begins anew. */
  forgetAfterMsMin: 30 * 86_400_000,
  /** By how much the clocks of hosts and server may differ before a repeat could be forgotten too early. */
  clockSkewMs: 3_600_000,
  /** An input for a saga that has no ledger yet is offered again for this long: its start may be on the way. */
  earlyInputMs: 3_600_000,
  earlyInputDelayMs: 2_000,
  /**
   * A server that leads no more and does not know it yet answers for this long at most, and may lack what was stored since: a
   * leader without its followers resigns after ten seconds, and it looks every ten.
   */
  deposedMsMax: 20_000,
  /** And this often at least: such a server may lack the ledger. */
  earlyInputLooksMin: 12,
  /** An answer to what an ended saga, and a vote on what any, never asked is offered again so long only: such a server does not last. */
  endedInputMs: 25_000,
  /** Child processes that die of the same message, alone with it, before it is set aside. */
  victimsMax: 3,
  /** Child processes for one suspect each that a host or worker starts at once; one that lives on after the probation counts no more. */
  childrenStartingMax: 4,
  probationMs: 5_000,
  /** Suspects that a host or worker has in child processes at once, as far as they have not lived on for the probation. */
  suspectsAtOnceMax: 64,
  /** Marks that a host or worker reads or writes at once: after a death there may be thousands. */
  marksAtOnceMax: 16,
  /** Deliveries that a process knows it had, twice as many at most: more than it may hold un-acked. */
  returnsKnownMax: 16_384,
  /** A child that dies within this of an input died of it and of none that came later. */
  handOneByOneMs: 500,
  /** Heartbeats of its parent during which a child may say nothing; then it hangs: about half a minute. */
  childSilentBeatsMax: 33,
  /** Between two looks of a host's thread at what holds its loop. */
  heldLookMs: 100,
  /**
   * A loop that one saga has held for so long, in processor time, may never be given back: the saga is marked before the
   * lease of its inputs ends. Thirty times what a piece of long work may take.
   */
  heldSuspectMs: 300,
  /**
   * And its process ends after this, unless SAGAMESH_HELD_MAX_MS says otherwise: no decision of a healthy saga takes a tenth
   * of it, and a child process still says where it was held before its parent takes it for hung.
   */
  heldMaxMs: 20_000,
  /** A mark that its process did not take away vanishes after this: longer than any effect runs. */
  markTtlMs: 86_400_000,
  /**
   * A saga that only a signal moves on is named by doctor after this: what is sent by a program that runs has come by
   * then, and what a person sends may have been forgotten.
   */
  signalAwaitedMs: 3_600_000,
  /** A message for a definition that no living host serves is offered again after this at most. */
  unservedDelayMs: 5_000,
  /** How often hosts count what each stream holds: what is lost between two counts is not missed by a process that begins later. */
  censusEveryMs: 120_000,
  /** How often a host looks whether the registry still has what it serves: one read, and clients start by name again soon. */
  registerEveryMs: 10_000,
  /** How often a process that serves looks whether LEDGER and the claims are still the ones it began on. */
  vigilEveryMs: 5_000,
  /** How often a process that waits for a person's word on a restore looks whether it was said. */
  restoredLookMs: 1_000,
  /** A claim's loser waits the tool's timeout and this before it reports a doubt. */
  claimGraceMs: 2_000,
  toolTimeoutMs: 60_000,
  modelTimeoutMs: 600_000,
  /** What a decision may write where a budget counts tokens and the agent names no bound: what ports ask for anyway. */
  outputTokensMax: 32_000,
  /** A decision that could write no more than this would be cut off: while the pool allows more, it is not the last. */
  decisionTokensMin: 2_048,
  /** Room for the last step: an output and a few words. */
  lastStepTokens: 1_024,
  /** A request that could be answered with less than this is not sent. */
  outputTokensMin: 128,
  /** What a provider adds of its own: to a request, to each tool in it, to each message, to each of its parts. */
  requestTokens: 1_024,
  toolTokens: 128,
  messageTokens: 64,
  partTokens: 128,
  /** Superseded or lost calls whose reservations are kept apart; older ones count as used. */
  lateCallsMax: 100,
  /** Sagas below a saga, in levels: a model that delegates what it was delegated ends here. */
  depthMax: 8,
  /** Children that one saga has open at once: each is a ledger, and all of them report to one. */
  childrenOpenMax: 64,
  /**
   * What one saga may have open at once, unless its budget says otherwise: two workflows of the largest graph, or four
   * full replies of a model. All of it stands in its state and in each snapshot, a kilobyte each at worst.
   */
  intentsOpenMax: 1_000,
  /** The most that a budget may say: a state of ten thousand is copied and written in tens of milliseconds. */
  intentsOpenCeiling: 10_000,
  /**
   * Calls of one reply, unless its agent says otherwise: no task of a model's is done by more at once, and a model that
   * repeats itself is told before each of them is an effect.
   */
  callsPerReplyMax: 256,
  /**
   * Names of actors of which a saga counts how often each was asked for; all after them share one count. No machine that
   * is written by hand has so many; they stand in each of its snapshots, some thirty bytes each.
   */
  namesCountedMax: 1_000,
  retryAttemptsMax: 5,
  retryBackoffMs: 500,
  retryBackoffMaxMs: 30_000,
  /** Deliveries of one attempt to workers before it is given up with a recorded result. */
  workDeliveriesMax: 10,
  /** A model may be told this often in a row that its reply cannot be taken, unless its agent says otherwise. */
  repairsMax: 3,
  /** Characters of an agent's working memory as JSON: it stands in every state, and the model is shown it whole. */
  memoryCharactersMax: 64 * 1024,
  /** Messages that a context policy may keep: their places stand in the state. */
  keptMessagesMax: 10_000,
  /** A tool's output shorter than this is not replaced by a reference, which is hardly shorter. */
  referenceCharactersMin: 400,
  /** A stack with its causes: some hundred frames. It is written for each attempt that throws, and read by people. */
  traceCharactersMax: 16 * 1024,
  /** Failures of bodies that `inspect` tells with their stacks, the latest; the ledger has the others. */
  failuresToldMax: 10,
  /** How many causes, each behind the one before, a failure tells: a driver's, its client's, and what those wrapped. The schema is written so deep. */
  causeDepthMax: 4,
  /** The name and the code of a cause. */
  causeNameMax: 200,
  /** A reason that the outside gives for a signal: a sentence or two, for people. */
  reasonLengthMax: 2_000,
  /** An evaluator asks again if it means longer; a typing error does not silence an agent for years. */
  rateLimitMaxMs: 7 * 86_400_000,
  /** Flags that no `resume` has acknowledged yet; of more, the newest are kept and the ledger has the rest. */
  flagsMax: 20,
  /**
   * Between two looks of a host for what is open and in no queue: longer than the server's window for Msg-Ids, and seldom
   * enough to cost nothing.
   */
  auditEveryMs: 300_000,
  /** After a signal, the next model call waits for further signals: a hundred at once cost one call. */
  signalSettleMs: 50,
  /** How long an idle actor stays in memory, so that a result that comes soon needs no reload. */
  lingerMs: 2_000,
  /** Requests to the server are sent again for this long before an error surfaces: an election takes 4 to 6 s. */
  serverPatienceMs: 30_000,
  /** A signed callback is good until its call's own deadline, and no longer than this: a leaked one dies some day. */
  callbackMaxMs: 366 * 86_400_000,
  /** The body of an answer from outside. */
  callbackBytesMax: 256 * 1024,
  /** A human's task that names no deadline. */
  taskWithinMs: 7 * 86_400_000,
  /** What one policy may remember, as JSON: a state holds no history. */
  guardBytesMax: 64 * 1024,
  /** Rewritings of one call before it is denied: policies that answer each other would go on for ever. */
  rewritesMax: 8,
  /** Reminders of one task come no faster: each is a turn, and a person reads it. */
  remindEveryMinMs: 1_000,
  /** People in line for one task: an approval whose terms escalate to themselves ends here. */
  lineMax: 10,
  /** Turns between two snapshots of a saga that keeps running, and of one that falls asleep. */
  snapshotTurns: 100,
  snapshotAsleepTurns: 10,
  /** Turns of a ledger that are read and folded at once, and then laid by: reading and writing them takes tens of milliseconds. */
  foldedAtOnceMax: 1_000,
  /**
   * A snapshot may be so many times as large as what the ledger grew by since the last, so all of them together
   * cost a share of the ledger. More for a saga that falls asleep: folding a byte takes ten times as long as
   * writing it, and no caller waits for a snapshot.
   */
  snapshotBytesPerLedgerByte: 4,
  snapshotAsleepBytesPerLedgerByte: 16,
  /** Pieces of a snapshot that is too large for a message. */
  snapshotPieceBytes: 512 * 1024,
  /** Settled effects and failures that are worth a part of their own: those of the turns between two snapshots. */
  pastPartMin: 100,
  /** Ids of signals and votes that are worth a pack, and the turns between two looks at them. */
  seenPackMin: 256,
  seenTidyTurns: 64,
  /** Nodes and edges of a workflow's graph, which stands in its state; a plan of more is no plan a person reads. */
  nodesMax: 500,
  edgesMax: 5_000,
  /** Of a path into a result. */
  pointerLengthMax: 1_000,
  /** What a plan is made from, and what a model may answer at once: a book, not a library. */
  planSpecCharactersMax: 200_000,
  planReplyCharactersMax: 500_000,
  /** How often a plan is mended before it is refused; a model that needs more does not get there. */
  planRounds: 4,
  planRoundsMax: 20,
  /** Tokens of one planning, unless it says otherwise. */
  planTokens: 1_000_000,
  /** Findings that are told at once; of more, the first and how many there are. */
  planFindingsMax: 100,
  planAgentCharactersMax: 20_000,
  planAgentSteps: 10,
  planAgentStepsMax: 50,
  /** How often a workflow plans again before it undoes what it did, unless it says otherwise. */
  replansMax: 1,
  /** What a validator's model is shown, in tokens by the estimate of actors/validators/context.ts: it judges one thing. */
  validatorTokensMax: 1_000,
  /** Of one verdict: a longer list is a report that no person reads through, and it stands in the ledger. */
  findingsMax: 100,
  changesMax: 20,
  /** How often one item is changed and judged again before it is refused. */
  augmentationsMax: 3,
  /** A saga that cannot be folded here is offered again after this: another host may have the right code. */
  parkedDelayMs: 30_000,
  /** And is tried again here after twice as long each time, up to this: what it stands for is mended by a person, or a new host. */
  parkedTryMsMax: 240_000,
  /** Sagas of which that is remembered, about half a kilobyte each, and of each so many inputs; what is beyond is tried as it comes. */
  parkedKnownMax: 16_384,
  parkedRecallMax: 8,
  /** Why it cannot is noted anew after this while it is offered again; a note counts for three times as long. */
  parkedRenewMs: 300_000,
} as const;

assert(limits.inboxHeartbeatMs * 3 < limits.inboxAckWaitMs, "three inbox heartbeats fit into one lease");
assert(limits.hostBeatMs * 3 < limits.hostTtlMs, "three host heartbeats fit into its time to live");
assert(
  limits.heldMaxMs < limits.childSilentBeatsMax * limits.inboxHeartbeatMs,
  "what holds a child's loop is named before the child counts as hung",
);
assert(limits.relaxed * 2 < limits.overloaded, "what a host takes again does not overload it");
assert(limits.workHeartbeatMs * 3 < limits.workAckWaitMs, "three work heartbeats fit into one lease");
assert(limits.snapshotPieceBytes < limits.messageBytesMax, "a piece of a snapshot fits into a message");
assert(
  limits.valueDepthMax + 20 < limits.nestingMax,
  "a value at its limit is read inside a turn, and wrapped",
);
assert(limits.toldDepthMax + 5 < limits.nestingMax, "what a parent is told can be read by it");
assert(limits.nestingMax < limits.ownNestingMax, "what is written can be read");
assert(limits.inlineBytesMax < limits.messageBytesMax, "an inline value fits into a message");
assert(limits.callsPerReplyMax <= limits.intentsOpenMax, "the calls of one reply may all be open");
assert(limits.intentsOpenMax <= limits.intentsOpenCeiling, "what may be open by default may be said");
assert(limits.signalHorizonMs > limits.duplicateWindowMs, "the ledger remembers longer than the server");
assert(limits.signalHorizonMs > 2 * limits.lateCallMs, "a call is asked about long before a claim goes");
