/**
 * Gives vectors to `validateJwtAccessToken` of oauth4webapi, and prints the names of those that it accepts, as JSON. The first argument is
 * the file of vectors, and the second one the address at which the files of the issuer are.
 */
import { readFileSync } from "node:fs";
import {
  allowInsecureRequests,
  clockSkew,
  clockTolerance,
  customFetch,
  discoveryRequest,
  jwksCache,
  processDiscoveryResponse,
  validateJwtAccessToken,
} from "oauth4webapi";
import type { VectorFile } from "../../../asker/vectors/vectors.ts";

const [, , path = "", address = ""] = process.argv;
const { settings, vectors }: VectorFile = JSON.parse(readFileSync(path, "utf8"));
const issuer = new URL(settings.issuer);
/** The issuer's name leads to loopback. */
const options = {
  [customFetch]: (url: string) => fetch(url.replace(issuer.origin, address)),
  [allowInsecureRequests]: true,
};
const server = await processDiscoveryResponse(issuer, await discoveryRequest(issuer, options));
const cache = {};

const accepted: string[] = [];
for (const { name, token, now } of vectors) {
  // A header can hold no line break.
  if (/[^\x20-\x7e]/.test(token)) continue;
  const request = new Request(settings.audience, { headers: { authorization: `Bearer ${token}` } });
  await validateJwtAccessToken(server, request, settings.audience, {
    ...options,
    [jwksCache]: cache,
    [clockSkew]: now - Math.floor(Date.now() / 1000),
    [clockTolerance]: settings.tolerance_seconds,
  }).then(
    () => accepted.push(name),
    () => {},
  );
}
console.log(JSON.stringify(accepted));
