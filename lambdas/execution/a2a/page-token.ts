/** Where a listing goes on: opaque to clients, checked when it comes back. */
import * as z from "zod";
import { paramsRefused } from "../http/exchange.ts";

/** After the task `lastId` of the store's page that begins at `cursor`; `total` as it was counted for the first page. */
const tokenSchema = z.strictObject({
  cursor: z.string().min(1).max(700).optional(),
  lastAtMs: z.int().min(0),
  lastId: z.string().min(1).max(128),
  total: z.int().min(0),
});
export type PageToken = z.infer<typeof tokenSchema>;

export function encodePageToken(token: PageToken): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Throws `invalid_params` for what is none. */
export function decodePageToken(text: string): PageToken {
  const token = tokenSchema.safeParse(parse(Buffer.from(text, "base64url").toString())).data;
  if (token === undefined) throw foreignPageToken();
  return token;
}

export function foreignPageToken(): Error {
  return paramsRefused([{ path: ["pageToken"], message: "not a token of this listing" }]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
