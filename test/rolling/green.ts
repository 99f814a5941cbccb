/** The application as it is to be, and nothing of what was: what a blue/green deployment starts beside the old one. */
import { defineApp } from "../../services/app/app.ts";
import { office } from "./office.ts";

export default defineApp(office(2));
