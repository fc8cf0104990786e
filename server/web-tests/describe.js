/** Writes the types of the interface, of which the types of the page are made, from the OpenAPI document of the server. */

import { writeFileSync } from "node:fs";

import { compile } from "json-schema-to-typescript";
import { serve } from "./unit/program.js";

const [server, url] = await serve();
const answer = fetch(`${url}/api/openapi.json`).then((response) => response.json());
const { components } = await answer.finally(() => server.kill("SIGINT"));
const text = JSON.stringify({ $defs: components.schemas }).replaceAll("#/components/schemas/", "#/$defs/");
const options = { additionalProperties: false, bannerComment: "", format: false, unreachableDefinitions: true };
writeFileSync(new URL("interface.d.ts", import.meta.url), await compile(JSON.parse(text), "Interface", options));
