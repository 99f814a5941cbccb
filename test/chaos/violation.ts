/** Violation: a promise that was broken, and how. */
export interface Violation {
  readonly promise: string;
  readonly what: string;
}
