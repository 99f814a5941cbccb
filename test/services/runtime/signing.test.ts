/**
 * Goal: a signature proves that the holder of a key said exactly this: a turn's is of its bytes, a vote's of the vote, its
 * task and the arguments it is about. A wrong one is refused at the saga's door and found in a ledger; none is needed
 * where nobody names a key.
 * Method: keys of NATS's own library against ours; the purchase example on the test mesh with a host that signs.
 */
import { writeFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { nkeys } from "@nats-io/nats-core";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Vote } from "../../../protocol/event.ts";
import { readSignature } from "../../../protocol/signing.ts";
import { headers } from "../../../protocol/subjects.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import type { MemoryMesh } from "../../../services/memory/mesh.ts";
import { checkNkeySignature, nkeySigner } from "../../../services/nats/nkeys.ts";
import { openSigner, readTrusted } from "../../../services/runtime/signing.ts";
import { signVote, type Signer } from "../../../services/wire/signing.ts";
import type { TestMesh } from "../../../services/testing/index.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";
import app, { purchase } from "../../examples/purchase.ts";
import { record, type RecordedLedger, sourceOf } from "../../support/recorded.ts";

const seedOf = (pair: { getSeed(): Uint8Array }) => Buffer.from(pair.getSeed()).toString();
const newSigner = () => nkeySigner(seedOf(nkeys.createUser()), "test");

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("an NKey", () => {
  test("whose seed stands where its file should be named is refused without a word of the seed", () => {
    const seed = seedOf(nkeys.createUser());
    let thrown: unknown;
    try {
      openSigner(seed, "SAGAMESH_HOST_NKEY");
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "USAGE" });
    expect(String(thrown)).toContain("SAGAMESH_HOST_NKEY is a seed itself");
    expect(inspect(thrown)).not.toContain(seed);
  });

  test("signs as NATS's own library does, and checks what that signed", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, isUser) => {
        const pair = isUser ? nkeys.createUser() : nkeys.createAccount();
        const own = nkeySigner(seedOf(pair), "test");
        expect(own.publicKey).toBe(pair.getPublicKey());
        expect(Buffer.from(own.sign(bytes))).toEqual(Buffer.from(pair.sign(bytes)));
        expect(checkNkeySignature(own.publicKey, bytes, pair.sign(bytes))).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test("checks nothing but its own signature of these bytes, and takes no text for a key", () => {
    const [signer, other] = [newSigner(), newSigner()];
    const bytes = Buffer.from("what was said");
    const signature = signer.sign(bytes);
    const { publicKey } = signer;
    expect(checkNkeySignature(publicKey, bytes, signature)).toBe(true);
    expect(checkNkeySignature(other.publicKey, bytes, signature)).toBe(false);
    expect(checkNkeySignature(publicKey, Buffer.from("what was not"), signature)).toBe(false);
    expect(checkNkeySignature(publicKey, bytes, signature.subarray(1))).toBe(false);
    const mistyped = publicKey.slice(0, -1) + (publicKey.endsWith("A") ? "B" : "A");
    for (const text of ["", "U".repeat(56), mistyped, nkeys.createCurve().getPublicKey()])
      expect(checkNkeySignature(text, bytes, signature), text).toBe(false);
  });

  test("is read from a seed or a file of credentials, and no error says anything of a seed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-nkeys-"));
    const pair = nkeys.createUser();
    const file = join(folder, "user.creds");
    const text = `-----BEGIN USER NKEY SEED-----\n${seedOf(pair)}\n------END USER NKEY SEED------\n`;
    await writeFile(file, text);
    expect(openSigner(file, "--nkey")?.publicKey).toBe(pair.getPublicKey());
    const spoilt = seedOf(pair).replace(/.{4}$/, "AAAA");
    await writeFile(file, spoilt);
    for (const [path, code] of [
      [file, "USAGE"],
      [join(folder, "none"), "FILE_UNREADABLE"],
    ] as const) {
      const error: unknown = await Promise.resolve()
        .then(() => openSigner(path, "--nkey"))
        .catch((one: unknown) => one);
      expect(error).toMatchObject({ code });
      expect(JSON.stringify([String(error), error])).not.toContain(spoilt.slice(0, 20));
    }
    const keys = join(folder, "keys.txt");
    await writeFile(keys, `# hosts\n${pair.getPublicKey()} the one in the cellar\n\n`);
    expect(await readTrusted([keys])).toEqual(new Set([pair.getPublicKey()]));
    await writeFile(keys, "somebody\n");
    expect(await codeOf(readTrusted([keys]))).toBe("USAGE");
    expect(await codeOf(readTrusted(["no-such-key"]))).toBe("FILE_UNREADABLE");
    await rm(folder, { recursive: true });
  });
});

const order = { item: "a press", supplier: "Ada & Sons", cents: 90_000 };
const onlyTask = async (t: TestMesh) => (await t.tasks())[0]!;
const deadOf = (mesh: MemoryMesh) =>
  mesh.server.dead.list().map((letter) => letter.headers[headers.reason] ?? "");

/** A purchase of which the lead says what the test wants, by a host that signs with the key given. */
async function bought(
  signer: Signer | undefined,
  say: (t: TestMesh, mesh: MemoryMesh) => Promise<unknown>,
): Promise<RecordedLedger> {
  const [ledger] = await record(
    app,
    async (t, mesh) => {
      await t.start(purchase, order, { id: "bought" });
      await say(t, mesh);
    },
    { ...(signer === undefined ? {} : { signer }), checkSignature: checkNkeySignature },
  );
  return ledger!;
}
const approveAs = (signer?: Signer) => async (t: TestMesh) =>
  t.vote(await onlyTask(t), { vote: "approve", by: "leo", as: "team_lead", signer });
const check = checkNkeySignature;
const verify = (ledger: RecordedLedger, trusted?: readonly string[]) =>
  verifyLedger(sourceOf(ledger), ledger.saga, ledger.app, {
    signatures: { check, trusted: trusted && new Set(trusted) },
  });

describe("a host's turns", () => {
  test("are signed by its key, each of them, and the ledger folds as ever", async () => {
    const [signer, other] = [newSigner(), newSigner()];
    const ledger = await bought(signer, approveAs());
    const turns = ledger.messages.length;
    expect(await verify(ledger, [signer.publicKey])).toMatchObject({
      ok: true,
      folded: true,
      signed: { turns: { [signer.publicKey]: turns }, turnsUnsigned: 0, votes: {}, votesUnsigned: 1 },
    });
    const distrusted = await verify(ledger, [other.publicKey]);
    expect(distrusted).toMatchObject({ ok: false, folded: true });
    expect(distrusted.findings.map(({ turn, code }) => [turn, code])).toEqual(
      ledger.messages.map((_, index) => [index + 1, "SIGNER_UNTRUSTED"]),
    );
  });

  test("without a key have no such header, which is a finding only where a key is named", async () => {
    const ledger = await bought(undefined, approveAs());
    expect(ledger.messages.some((message) => headers.signature in message.headers)).toBe(false);
    const checked = await verify(ledger);
    expect(checked.ok).toBe(true);
    expect(checked).not.toHaveProperty("signed");
    const { findings } = await verify(ledger, [newSigner().publicKey]);
    expect(findings.map(({ turn, what }) => [turn, what])).toEqual(
      ledger.messages.map((_, index) => [index + 1, "it is not signed"]),
    );
  });

  test("with another turn's signature, or one bit of it turned, are named", async () => {
    const ledger = await bought(newSigner(), approveAs());
    const signatureOf = (index: number) => ledger.messages[index]!.headers[headers.signature]!;
    const withSignature = (index: number, signature: string) => {
      const message = ledger.messages[index]!;
      const changed = { ...message, headers: { ...message.headers, [headers.signature]: signature } };
      return verify({ ...ledger, messages: ledger.messages.with(index, changed) });
    };
    expect((await withSignature(1, signatureOf(2))).findings).toMatchObject([
      { turn: 2, code: "SIGNATURE_INVALID" },
    ]);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat({ max: 6 }), async (at, bit) => {
        const written = signatureOf(2);
        const index = at % written.length;
        const letter = String.fromCharCode(written.charCodeAt(index) ^ (1 << bit));
        const { findings } = await withSignature(
          2,
          written.slice(0, index) + letter + written.slice(index + 1),
        );
        expect(findings).toMatchObject([{ turn: 3, code: "SIGNATURE_INVALID" }]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a vote", () => {
  test("that was signed is recorded with its signature, and verify names the key", async () => {
    const voter = newSigner();
    const ledger = await bought(undefined, approveAs(voter));
    expect(await verify(ledger)).toMatchObject({
      ok: true,
      signed: { turns: {}, votes: { [voter.publicKey]: 1 }, votesUnsigned: 0 },
    });
    expect(Buffer.concat(ledger.messages.map(({ data }) => data)).toString()).toContain('"kind":"end"');
  });

  const refusals: [string, (task: { saga: never; intent: never }, vote: Vote, voter: Signer) => Vote][] = [
    [
      "signed as another person",
      (task, vote, voter) => ({ ...vote, signature: signVote(voter, task, { ...vote, by: "lea" }) }),
    ],
    [
      "signed for another task",
      (task, vote, voter) => ({
        ...vote,
        signature: signVote(voter, { ...task, intent: "9-9" as never }, vote),
      }),
    ],
    [
      "signed for other arguments",
      (task, vote, voter) => ({
        ...vote,
        signature: signVote(voter, task, { ...vote, digest: "0".repeat(64) }),
      }),
    ],
    [
      "signed as a denial",
      (task, vote, voter) => ({ ...vote, signature: signVote(voter, task, { ...vote, vote: "deny" }) }),
    ],
    ["whose signature is no signature", (_, vote) => ({ ...vote, signature: "somebody" })],
    [
      "that names no arguments in what it signed",
      (task, { digest: _, ...vote }, voter) => ({ ...vote, signature: signVote(voter, task, vote) }),
    ],
  ];
  test.each(refusals)("%s is refused at the saga's door, and changes nothing", async (_, forge) => {
    let dead: string[] = [];
    const voter = newSigner();
    const ledger = await bought(undefined, async (t, mesh) => {
      const task = (await onlyTask(t)) as never as { saga: never; intent: never; digest: string };
      const vote = forge(task, { vote: "approve", by: "leo", as: "team_lead", digest: task.digest }, voter);
      const subject = `saga.${task.saga as string}.task.${task.intent as string}`;
      const { ports } = mesh.spawn("forger");
      await mesh.clock.until(
        ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(vote)), headers: {} }),
      );
      await t.settled();
      dead = deadOf(mesh);
      expect(await t.tasks()).toHaveLength(1);
    });
    expect(dead).toEqual([expect.stringMatching(/^\[SIGNATURE_INVALID\]/)]);
    expect(Buffer.concat(ledger.messages.map(({ data }) => data)).toString()).not.toContain('"type":"task"');
  });

  test("that a ledger holds with a signature of something else is found with its turn", async () => {
    const [voter, other] = [newSigner(), newSigner()];
    const ledger = await bought(undefined, approveAs(voter));
    const at = ledger.messages.findIndex(({ data }) => Buffer.from(data).includes('"type":"task","intent"'));
    const text = Buffer.from(ledger.messages[at]!.data).toString();
    const data = Buffer.from(text.replaceAll(voter.publicKey, other.publicKey));
    const { findings } = await verify({
      ...ledger,
      messages: ledger.messages.with(at, { ...ledger.messages[at]!, data }),
    });
    expect(findings).toContainEqual(expect.objectContaining({ turn: at + 1, code: "SIGNATURE_INVALID" }));
  });
});

test("a signature has one way to be written", () => {
  const signer = newSigner();
  const written = `${signer.publicKey}.${Buffer.from(signer.sign(Buffer.from("x"))).toString("base64url")}`;
  expect(readSignature(written)?.key).toBe(signer.publicKey);
  // The last letter of 64 bytes in base64 has four bits that say nothing.
  const again = ["A", "B", "C", "D"].map((letter) => readSignature(written.slice(0, -1) + letter));
  expect(again.filter((one) => one !== undefined).length).toBeLessThanOrEqual(1);
  expect(readSignature(`${written}=`)).toBeUndefined();
});
