/** Approval: the terms on which people let a call through. Apart from tools and policies, which both name them. */

/** Who may approve, until when, and what holds if they do not: the terms of one approval. */
export interface Approval {
  readonly by: readonly string[];
  readonly withinMs: number;
  readonly otherwise: "deny" | "approve";
  /** How many different people must approve; 1 unless given. */
  readonly quorum?: number;
}
