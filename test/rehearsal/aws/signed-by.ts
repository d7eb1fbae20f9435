/** Who signed a request, and for what: by its header, or by the query of a presigned URL, which anyone may follow. */
import type { Received } from "../../doubles/web-server.ts";

export type SignedBy = { accessKeyId: string; region: string; service: string; isPresigned: boolean };

/** All empty where nobody did. */
export function signedBy({ request, target }: Received): SignedBy {
  const [, header = ""] = /Credential=([^,]+)/.exec(request.headers.get("authorization") ?? "") ?? [];
  const presigned = new URL(target, "http://aws").searchParams.get("X-Amz-Credential");
  const [accessKeyId = "", , region = "", service = ""] = (presigned ?? header).split("/");
  return { accessKeyId, region, service, isPresigned: presigned !== null };
}
