/**
 * Workflow errors: the rows of the table of codes (errors.ts) that only workflows and plans have.
 */
/** The rows, by code. */
export const workflowErrors = {
  NODE_FAILED: {
    meaning: "a node that the workflow needs was never reached",
    retriable: false,
    remedy: "`sagamesh inspect SAGA --state dependency` says which condition could not hold.",
  },
  INVALIDATED: {
    meaning: "the outside invalidated what the workflow had done, and it may not plan again",
    retriable: false,
    remedy: "Start the workflow anew, or raise `replansMax` in a new version.",
  },
  PLAN_INVALID: {
    meaning: "a plan is not a graph that can be run",
    retriable: false,
    remedy:
      "Correct each finding in the message, such as cycles, unknown names and nodes that nothing undoes.",
  },
  INFEASIBLE: {
    meaning: "the planner says that it cannot be done",
    retriable: false,
    remedy: "Relax the goal or constraint that the message names, then start it anew.",
  },
} as const;
