/** `npm run doors`: writes what of the documents is made from the sources. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDoors } from "./doors.ts";
import { root } from "./import-law.ts";

for (const { path, text, made } of readDoors()) {
  if (made === "") console.error(`${path}: has no marks, so nothing was written`);
  else if (made !== text) {
    writeFileSync(join(root, path), made);
    console.error(`${path}: written`);
  }
}
