/** Parked: sagas whose hosts cannot take what comes for them. Pure. */
import { fine, type Judge, wrong } from "./finding.ts";

export const judgeParked: Judge = ({ parked }) => {
  if (parked === undefined) return [];
  if (parked.sagas === 0) return [fine("PARKED", "no host says of a saga that it cannot take it")];
  // What stands for one reason is mended in one way: one finding for each.
  const byCode = Map.groupBy(parked.some, ({ code }) => code);
  const more = parked.sagas > parked.some.length ? `; ${parked.sagas} are parked in all` : "";
  return [...byCode].map(([code, sagas]) =>
    wrong(
      "SAGA_PARKED",
      `no host can take ${sagas.map(({ saga }) => saga).join(", ")} (${code}): ${sagas[0]?.reason ?? ""}${more}`,
      sagas[0]?.remedy ?? "",
    ),
  );
};
