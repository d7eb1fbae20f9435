/**
 * The version in package.json, as code: a bundled function reads no file to know it. A test fails where the
 * two differ.
 */
export const version = "0.1.0";

/** For `customUserAgent` of the AWS SDK's clients, which add it to their `User-Agent` and `X-Amz-User-Agent`. */
export const sdkUserAgent: [name: string, version: string][] = [["sekisho", version]];
