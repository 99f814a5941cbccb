// The API reference, made of the docstrings: a page in Markdown for each import of the package. A plugin of TypeDoc, whose
// options stand in package.json under `typedocOptions`; this gives the pages their names and their order.
//
//     npm run reference [-- --out FOLDER]
//
// What is written is whole: whatever TypeDoc warns of, such as a link in a docstring that leads nowhere, is an error.
"use strict";
const path = require("node:path");
const { name, exports: doors } = require("../package.json");

/** By the file that an import opens, as TypeDoc names it: what a program imports. */
const importOf = new Map(
  Object.entries(doors).map(([door, { "sagamesh-source": file }]) => [
    path.normalize(file).replace(/(\/index)?\.ts$/, ""),
    path.join(name, door),
  ]),
);
const imports = [...importOf.values()];

exports.load = (app) =>
  app.converter.on("resolveEnd", ({ project }) => {
    for (const page of project.children ?? []) page.name = importOf.get(page.name) ?? page.name;
    project.children?.sort((a, b) => imports.indexOf(a.name) - imports.indexOf(b.name));
  });
