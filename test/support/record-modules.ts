/** A preload: at its end the process leaves the URLs of all modules it loaded in the file MODULES_FILE. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const urls: string[] = [];
registerHooks({
  load: (url, context, next) => {
    urls.push(url);
    return next(url, context);
  },
});
process.on("exit", () => writeFileSync(process.env["MODULES_FILE"] ?? "", urls.join("\n")));
