/** Looked: into which sagas' ledgers doctor has looked. Pure. */
import { fine, type Judge } from "./finding.ts";

export const judgeLooked: Judge = ({ looked }) => {
  if (looked === undefined) return [];
  const { by, sagas, more, why } = looked;
  if (by === "ledgers")
    return [
      fine(
        "LOOKED",
        `of all sagas (${sagas}) the ledgers were looked at${why === undefined ? "" : `: ${why}`}`,
      ),
    ];
  return [
    fine(
      "LOOKED",
      more
        ? `of the sagas that go on ${sagas} that rest were looked at, those that were listed first; \`sagamesh doctor --deep\` looks at all`
        : `the sagas that go on and rest (${sagas}) were looked at`,
    ),
  ];
};
