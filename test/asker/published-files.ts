/** The files that `sekisho asker publish` writes for the test keys, on loopback. */
import { createDocuments } from "../../lib/cli/asker/documents.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { createVectorFile } from "./vectors/vectors.ts";

export async function servePublishedFiles() {
  const { issuer, jwks } = createVectorFile().settings;
  const keys = jwks.keys.map((jwk) => ({ id: jwk.kid ?? "", kid: jwk.kid ?? "", jwk }));
  const documents = createDocuments({ asker: { issuer, algorithm: "RS256" }, keys });
  const requestedPaths: string[] = [];
  const { url, close } = await startWebServer({
    async handle({ target }) {
      requestedPaths.push(target);
      const text = documents.get(target.slice(1));
      const headers = { "content-type": "application/json" };
      return new Response(text ?? null, { status: text === undefined ? 404 : 200, headers });
    },
  });
  return { url, close, requestedPaths };
}
