/**
 * Commands: the table of all of them, in the order of the help. One is loaded when it is named, so a host carries
 * nothing of the others.
 */
import type { CommandGroups } from "./frame/run.ts";

export const commands: CommandGroups = {
  "Run a mesh": {
    new: async () => (await import("./commands/new.ts")).creating,
    check: async () => (await import("./commands/check.ts")).check,
    demo: async () => (await import("./commands/demo.ts")).demo,
    up: async () => (await import("./commands/up.ts")).up,
    host: async () => (await import("./commands/host.ts")).host,
    worker: async () => (await import("./commands/worker.ts")).worker,
    gateway: async () => (await import("./commands/gateway.ts")).gateway,
    console: async () => (await import("./commands/console.ts")).console,
  },
  "Plan workflows": {
    plan: async () => (await import("./commands/plan.ts")).plan,
    run: async () => (await import("./commands/run.ts")).run,
  },
  "Drive sagas": {
    start: async () => (await import("./commands/start.ts")).start,
    schedule: async () => (await import("./commands/schedule.ts")).schedule,
    fork: async () => (await import("./commands/fork.ts")).fork,
    signal: async () => (await import("./commands/signal.ts")).signal,
    cancel: async () => (await import("./commands/cancel.ts")).cancel,
    undo: async () => (await import("./commands/undo.ts")).undo,
    link: async () => (await import("./commands/link.ts")).link,
    settle: async () => (await import("./commands/settle.ts")).settle,
  },
  "Read sagas": {
    query: async () => (await import("./commands/query.ts")).query,
    ls: async () => (await import("./commands/ls.ts")).ls,
    inspect: async () => (await import("./commands/inspect.ts")).inspect,
    graph: async () => (await import("./commands/graph.ts")).graph,
    tail: async () => (await import("./commands/tail.ts")).tail,
    why: async () => (await import("./commands/why.ts")).why,
    trace: async () => (await import("./commands/trace.ts")).trace,
    verify: async () => (await import("./commands/verify.ts")).verify,
    import: async () => (await import("./commands/import.ts")).importing,
    export: async () => (await import("./commands/export.ts")).exporting,
    migrate: async () => (await import("./commands/migrate.ts")).migrate,
    replay: async () => (await import("./commands/replay.ts")).replay,
  },
  "Answer what they ask": {
    tasks: async () => (await import("./commands/tasks.ts")).tasks,
    approve: async () => (await import("./commands/approve.ts")).approve,
    deny: async () => (await import("./commands/deny.ts")).deny,
    edit: async () => (await import("./commands/edit.ts")).edit,
    answer: async () => (await import("./commands/answer.ts")).answer,
  },
  Operate: {
    index: async () => (await import("./commands/indexing.ts")).indexing,
    doctor: async () => (await import("./commands/doctor.ts")).doctor,
    restored: async () => (await import("./commands/restored.ts")).restored,
    rebuild: async () => (await import("./commands/rebuild.ts")).rebuild,
    shards: async () => (await import("./commands/shards.ts")).shards,
    partitions: async () => (await import("./commands/partitions.ts")).partitions,
    deployments: async () => (await import("./commands/deployments.ts")).deployments,
    trust: async () => (await import("./commands/trust.ts")).trust,
    nudge: async () => (await import("./commands/nudge.ts")).nudge,
    archive: async () => (await import("./commands/archive.ts")).archive,
    repair: async () => (await import("./commands/repair.ts")).repair,
    pause: async () => (await import("./commands/pause.ts")).pause,
    resume: async () => (await import("./commands/resume.ts")).resume,
    dead: async () => (await import("./commands/dead.ts")).dead,
    decode: async () => (await import("./commands/decode.ts")).decode,
    mcp: async () => (await import("./commands/mcp.ts")).mcp,
    completion: async () => (await import("./commands/completion.ts")).completionOf(commands),
  },
};
