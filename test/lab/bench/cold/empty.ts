/** The baseline of a cold start: a handler that only answers. */

export async function handler(): Promise<{ statusCode: number }> {
  return { statusCode: 200 };
}
