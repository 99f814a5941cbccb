/** An application that never comes to serve: its process says so, and holds its loop for ever. */
import { writeSync } from "node:fs";

writeSync(2, `spins ${process.pid}\n`);
for (;;);
