/**
 * Goal: `verify --all` looks at every saga, whatever is not answered meanwhile, and gives up only where the server is away.
 * Method: a look that is not answered when the test says so; what is told is compared.
 */
import { expect, test } from "vitest";
import type { VerifyDocument } from "../../../../protocol/documents/verify.ts";
import { MeshError } from "../../../../protocol/errors.ts";
import { parseSagaId } from "../../../../protocol/ids.ts";
import { verifyEach } from "../../../../services/cli/commands/verifying.ts";

const sagas = Array.from({ length: 280 }, (_, k) => `saga-${k}`);

/** Looks at all of them; `fails` says whether the look number n at a saga is not answered. */
async function lookedAt(fails: (saga: string, looks: number) => boolean) {
  const told: VerifyDocument[] = [];
  const looks = new Map<string, number>();
  const look = async (saga: string): Promise<VerifyDocument[]> => {
    const n = (looks.get(saga) ?? 0) + 1;
    looks.set(saga, n);
    await Promise.resolve();
    if (fails(saga, n)) throw new MeshError("UNAVAILABLE", "no answer");
    return [{ saga: parseSagaId(saga), ok: true, turns: 1, folded: false, findings: [] }];
  };
  const end = verifyEach(sagas, look, (document) => void told.push(document), new AbortController().signal);
  const error = await end.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { told, error, codes: told.flatMap(({ findings }) => findings.map(({ code }) => code)) };
}

test("what was not answered is looked at again, and all are told of", async () => {
  const { told, error, codes } = await lookedAt((saga, looks) => looks === 1 && /[05]$/.test(saga));
  expect(error).toBeUndefined();
  expect(new Set(told.map(({ saga }) => saga)).size).toBe(280);
  expect(codes).toEqual([]);
});

test("what is not answered again is a finding, and all others are told of", async () => {
  const { told, error, codes } = await lookedAt((saga) => saga === "saga-45");
  expect(error).toBeUndefined();
  expect(told).toHaveLength(280);
  expect(codes).toEqual(["UNAVAILABLE"]);
});

test("a server that is away is not asked for each saga", async () => {
  const { told, error } = await lookedAt((saga) => Number(saga.slice(5)) > 100);
  expect(error).toMatchObject({ code: "UNAVAILABLE" });
  expect(told).toHaveLength(101);
});
