import type { VerifyDocument } from "../../../protocol/documents.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { verifyLedger } from "../../client/verify.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { defineCommand } from "../command.ts";
import { withMesh } from "../context.ts";

/** Checks a ledger. */
export const verify = defineCommand({
  name: "verify",
  summary: "check a saga's ledger: chain, numbers, hashes, results, blobs; with --app the fold too",
  positionals: { saga: { help: "the saga's id" } },
  options: {
    app: {
      type: "string",
      hint: "FILE",
      help: "application file: fold the ledger and compare every decision",
    },
  },
  examples: ["sagamesh verify hire-41 --app app.ts"],
  run: async ({ saga: id, app: file }, context) => {
    const saga = parseSagaId(id);
    const app = file === undefined ? undefined : await loadApp(file);
    return withMesh(context, async ({ ports }) => {
      const document = await verifyLedger(ports, saga, app);
      context.output.print(document, () => describe(document));
      return document.ok ? 0 : 1;
    });
  },
});

function describe({ saga, ok, turns, folded, findings }: VerifyDocument): string {
  if (ok) return `${saga}: ${turns} turns are whole${folded ? ", and fold to the decisions recorded" : ""}`;
  return findings.map(({ turn, code, what }) => `${saga} turn ${turn}: [${code}] ${what}`).join("\n");
}
