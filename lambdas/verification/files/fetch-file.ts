/** One file of a message, from Slack: its bytes, and what it is by them. */
import type { AskedFile, Installation } from "../task/messages.ts";
import type { Download } from "./download.ts";
import { isSignInPage, mimetypeOf } from "./file-kind.ts";

/** `refused` is for good. */
export type FetchedFile = { bytes: Uint8Array; mimetype: string } | { refused: "too_large" | "not_to_be_had" };

/** What has taken the place of `tried` as the installation's token; `inDoubt`, since Slack does not say why it gives no file. */
export type NewerToken = (request: {
  installation: Installation;
  tried: string;
  inDoubt: true;
}) => Promise<string | undefined>;

/** Rejects with a SlackError where it may work another time. */
export async function fetchFile({
  file,
  installation,
  token,
  newerToken,
  download,
  maxBytes,
  signal,
}: {
  file: AskedFile;
  installation: Installation;
  token: string;
  newerToken: NewerToken;
  download: Download;
  maxBytes: number;
  signal: AbortSignal;
}): Promise<FetchedFile> {
  const { url, name, mimetype: said } = file;
  if (url === undefined) return { refused: "not_to_be_had" };

  async function fetchWith(token: string): Promise<FetchedFile> {
    const got = await download({ url: url ?? "", token, maxBytes, signal });
    if ("refused" in got) return got;
    const { bytes, contentType } = got;
    if (isSignInPage({ bytes, contentType, said, name })) return { refused: "not_to_be_had" };
    return { bytes, mimetype: await mimetypeOf({ bytes, said }) };
  }

  const first = await fetchWith(token);
  if (!("refused" in first) || first.refused !== "not_to_be_had") return first;
  // It may be the token that Slack does not take: the kept one may have been rotated.
  const newer = await newerToken({ installation, tried: token, inDoubt: true }).catch(() => undefined);
  return newer === undefined ? first : fetchWith(newer);
}
