/** The client of the official SDK. Its own limit of 60 s for each request assumes a speed, so a request ends with its test. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import { hangMs } from './hang.ts';

const options = { timeout: hangMs };
export type McpClient = {
  listTools(): ReturnType<Client['listTools']>;
  callTool(name: string, given?: Record<string, unknown>): ReturnType<Client['callTool']>;
  close(): Promise<void>;
};
/** Starts a server as a child process and connects to it. */
export const connectToServer = async (server: StdioServerParameters): Promise<McpClient> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport(server), options);
  return {
    listTools: () => client.listTools(undefined, options),
    callTool: (name, given = {}) => client.callTool({ name, arguments: given }, undefined, options),
    close: () => client.close(),
  };
};
