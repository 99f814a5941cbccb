import type { VerifyDocument } from "../../../protocol/documents.ts";
import { verifyLedger } from "../../client/verify.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { defineCommand } from "../command.ts";
import { archiveOption, sagaPositional, withSaga } from "../saga-source.ts";

/** Checks a ledger. */
export const verify = defineCommand({
  name: "verify",
  summary: "check a saga's ledger: chain, numbers, hashes, results, blobs; with --app the fold too",
  positionals: { saga: sagaPositional },
  options: {
    app: {
      type: "string",
      hint: "FILE",
      help: "application file: fold the ledger and compare every decision",
    },
    archive: archiveOption,
  },
  examples: ["sagamesh verify hire-41 --app app.ts"],
  run: async ({ app: file, ...which }, context) => {
    const app = file === undefined ? undefined : await loadApp(file);
    return withSaga(context, which, async ({ saga, source }) => {
      const document = await verifyLedger(source, saga, app);
      context.output.print(document, () => describe(document));
      return document.ok ? 0 : 1;
    });
  },
});

function describe({ saga, ok, turns, folded, findings }: VerifyDocument): string {
  if (ok) return `${saga}: ${turns} turns are whole${folded ? ", and fold to the decisions recorded" : ""}`;
  return findings.map(({ turn, code, what }) => `${saga} turn ${turn}: [${code}] ${what}`).join("\n");
}
