/** The board as it is served today: both versions of the tool, each for the sagas that name it. */
import { defineApp, implement } from "sagamesh";
import { board1, board2, post1, post2 } from "./posts-contract.ts";

export default defineApp({
  sagas: [board1, board2],
  implementations: [
    implement(post1, { perform: async () => ({ version: 1, pid: process.pid }) }),
    implement(post2, { perform: async () => ({ version: 2, pid: process.pid }) }),
  ],
});
