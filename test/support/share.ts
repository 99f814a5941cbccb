/**
 * Share: how far a walk goes. A `*.walk.test.ts` goes through cases that are made by number; `npm test` goes through a
 * share of them, the first ones, and `npm run test:e2e` through all.
 */
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Whether this run goes through all. */
    readonly walksAll: boolean;
  }
}

/** So many cases: the share, or all. */
export const share = (some: number, all: number): number => (inject("walksAll") ? all : some);
