/**
 * Workflow errors: the rows of the table of codes (errors.ts) that only workflows and plans have.
 */
export const workflowErrors = {
  NODE_FAILED: {
    meaning: "a node that the workflow cannot do without was never reached",
    retriable: false,
    remedy: "`sagamesh inspect SAGA --state dependency` says which condition could not hold.",
  },
  INVALIDATED: {
    meaning: "the outside took back what a workflow had done, and it is not to plan again",
    retriable: false,
    remedy: "Start it anew, or raise replansMax.",
  },
  PLAN_INVALID: {
    meaning: "a plan is no graph that can be run",
    retriable: false,
    remedy: "Correct what the message lists: cycles, unknown names, nodes that nothing undoes.",
  },
  INFEASIBLE: {
    meaning: "whoever plans says that it cannot be done",
    retriable: false,
    remedy: "Relax what the message names, then start it anew.",
  },
} as const;
