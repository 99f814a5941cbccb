/**
 * An agent that notes what it is asked to, by a provider of the Messages API. Read from the environment: MESH_WORLD (the
 * provider's address).
 */
import { anthropicModel } from "../../services/models/anthropic.ts";
import { defineApp } from "../../services/app/app.ts";
import { noting, thrifty } from "./noting-contract.ts";

const provider = anthropicModel({
  ...{ model: "claude-sonnet-5", apiKey: "sk-test", baseURL: process.env["MESH_WORLD"] ?? "" },
});

export default defineApp({ sagas: [noting, thrifty], models: { provider } });
