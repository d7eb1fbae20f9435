/** How AWS's JSON and query protocols answer. */

type Failure = { status: number; name: string; message: string };

export function json(value: unknown): Response {
  return Response.json(value, { headers: { "content-type": "application/x-amz-json-1.1" } });
}

export function jsonError({ status, name, message }: Failure): Response {
  const headers = { "content-type": "application/x-amz-json-1.1" };
  return Response.json({ __type: name, message }, { status, headers });
}

export function xml({ action, result }: { action: string; result: string }): Response {
  const body = `<${action}Response><${action}Result>${result}</${action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></${action}Response>`;
  return new Response(body, { headers: { "content-type": "text/xml" } });
}

export function xmlError({ status, name, message }: Failure): Response {
  const body = `<ErrorResponse><Error><Type>Sender</Type><Code>${name}</Code><Message>${escapeXml(message)}</Message></Error><RequestId>r</RequestId></ErrorResponse>`;
  return new Response(body, { status, headers: { "content-type": "text/xml" } });
}

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
