/** What emulators want to see of a signature: they read the region off it and check nothing. */

export function emulatorHeaders(service: string): Record<string, string> {
  const scope = `20260101/us-east-1/${service}/aws4_request`;
  return {
    authorization: `AWS4-HMAC-SHA256 Credential=emulator/${scope}, SignedHeaders=host;x-amz-date, Signature=0`,
    "x-amz-date": "20260101T000000Z",
  };
}
