/** Starts the page. */

import { App } from "./app.js";

const app = new App();
app.start().catch((error) => app.fail(error));
