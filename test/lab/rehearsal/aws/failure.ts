/** Errors of AWS as each service formats them. */

const stsNamespace = "https://sts.amazonaws.com/doc/2011-06-15/";

/** `service` is the signing name. The name goes into the body, and into a header where the protocol is REST. */
export function awsFailure({
  service,
  name,
  message = "",
  status = ["bedrock-agentcore", "s3", "sts"].includes(service) ? 403 : 400,
}: {
  service: string;
  name: string;
  message?: string;
  status?: number;
}): Response {
  if (service === "sts") return queryFailure({ name, message, status });
  if (service === "s3")
    return xml(
      `<Error>${element("Code", codeOf(name))}${element("Message", message)}</Error>`,
      status,
    );
  const headers = { "content-type": "application/x-amz-json-1.0", "x-amzn-errortype": name };
  return Response.json({ __type: name, message }, { status, headers });
}

/** Returns the answer of an action of STS. */
export function queryAnswer(action: string, result: string): Response {
  const inner = `<${action}Result>${result}</${action}Result><ResponseMetadata>${requestId()}</ResponseMetadata>`;
  return xml(`<${action}Response xmlns="${stsNamespace}">${inner}</${action}Response>`, 200);
}

export function element(name: string, text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<${name}>${escaped}</${name}>`;
}

/** STS leaves the `Exception` out of some names: https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html */
function queryFailure({
  name,
  message,
  status,
}: {
  name: string;
  message: string;
  status: number;
}): Response {
  const error = `<Error><Type>Sender</Type>${element("Code", codeOf(name))}${element("Message", message)}</Error>`;
  return xml(
    `<ErrorResponse xmlns="${stsNamespace}">${error}${requestId()}</ErrorResponse>`,
    status,
  );
}

function codeOf(name: string): string {
  return name === "AccessDeniedException" ? "AccessDenied" : name;
}

function requestId(): string {
  return element("RequestId", crypto.randomUUID());
}

export function xml(body: string, status: number): Response {
  return new Response(body, { status, headers: { "content-type": "text/xml" } });
}
