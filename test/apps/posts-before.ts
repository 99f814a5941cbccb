/** The board as it was served yesterday. */
import { defineApp, implement } from "sagamesh";
import { board1, post1 } from "./posts-contract.ts";

export default defineApp({
  sagas: [board1],
  implementations: [implement(post1, { perform: async () => ({ version: 1, pid: process.pid }) })],
});
