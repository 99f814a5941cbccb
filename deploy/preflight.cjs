// Says in one line what to do where the TypeScript sources cannot run, instead of a syntax error. Old JavaScript
// on purpose: it must run on the Node it complains about.
//
// npm puts node_modules/.bin first on the PATH of a script, so on the platforms that deploy/node/package.json lists
// `node` is the pinned one once `npm ci` has run.
"use strict";
var fs = require("fs");
var path = require("path");

var version = process.versions.node.split(".").map(Number);
var old = version[0] < 22 || (version[0] === 22 && version[1] < 18);
var installed = fs.existsSync(path.join(__dirname, "..", "node_modules", "zod"));

if (!installed) refuse("the dependencies are not installed. Run: npm ci");
if (old) {
  refuse(
    "Node " +
      process.versions.node +
      " cannot run the sources, and no pinned Node is installed for " +
      process.platform +
      "-" +
      process.arch +
      ". Run `npm ci` (without --omit or NODE_ENV=production), or install Node 22.18 or newer.",
  );
}

function refuse(what) {
  console.error("sagamesh: " + what);
  process.exit(1);
}
