/** Approval: the terms on which people let a call through. Apart from tools and policies, which both name them. */
import type { NoticeTerms } from "../machine/callable.ts";

/**
 * Who may approve, until when, and what holds if they do not: the terms of one approval. Plain data but for the tool
 * and the saga they name, which must be among the definition's own (`uses`).
 */
export interface Approval extends NoticeTerms {
  /** Names and roles; empty: anyone. */
  readonly by: readonly string[];
  readonly withinMs: number;
  /** At the deadline: what holds, or who is asked next, on terms of their own. */
  readonly otherwise: "deny" | "approve" | { readonly escalate: Approval };
}
