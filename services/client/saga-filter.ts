/** Saga filter: which sagas a program or a person means, and that what they say is one. */
import { type SagaRow, SagaStatus } from "../../protocol/documents/saga.ts";
import { MeshError } from "../../protocol/errors.ts";

/** Which sagas are meant; all conditions hold. */
export interface SagaFilter {
  /** Only those that have not ended. */
  readonly running?: boolean | undefined;
  /** Only those of this definition. */
  readonly name?: string | undefined;
  /** Only those that stand so. */
  readonly status?: SagaRow["status"] | undefined;
  /** At most so many: of those that changed how they stand, the ones that did so first. */
  readonly limit?: number | undefined;
  /** Only those behind this one, the last of the page before. */
  readonly after?: string | undefined;
  /** Those that were archived too. False unless given: each of them is read. */
  readonly archived?: boolean | undefined;
  /** Conditions as `sagamesh ls --query` takes them: `status=failed and ended>2026-01-31`. */
  readonly query?: string | undefined;
}

/** Throws USAGE for what no filter is, or for a number that is none. */
export function assertFilter(filter: SagaFilter): void {
  assertKeys("list", filter, {
    ...{ running: "boolean", name: "string", query: "string", status: "string" },
    ...{ limit: "number", after: "string", archived: "boolean" },
  });
  const { status, limit } = filter;
  if (status !== undefined && !SagaStatus.safeParse(status).success)
    throw new MeshError("USAGE", `list: status is one of ${SagaStatus.options.join(", ")}, not "${status}"`);
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0))
    throw new MeshError("USAGE", "list: limit is a whole number from 1 up");
}

/** Throws USAGE for what no option is: a filter that is misspelt would mean every saga. */
export function assertKeys(call: string, options: unknown, known: Readonly<Record<string, string>>): void {
  if (typeof options !== "object" || options === null)
    throw new MeshError("USAGE", `${call}: its options are one object`);
  for (const [key, value] of Object.entries(options)) {
    const type = Object.hasOwn(known, key) ? known[key] : undefined;
    if (type !== undefined && (value === undefined || typeof value === type)) continue;
    throw new MeshError(
      "USAGE",
      `${call}: ${type === undefined ? `there is no "${key}"` : `${key} is no ${type}`}`,
      {
        remedy: `It takes ${Object.keys(known).join(", ")}.`,
      },
    );
  }
}
