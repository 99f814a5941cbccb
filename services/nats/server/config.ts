/**
 * The configuration file of the embedded server. Pure.
 *
 * Only this machine can reach it, and every user of this machine can: it listens on the loopback address
 * and asks for no password. Whatever is not set here has the server's default, `max_payload` included.
 */

export interface ServerConfig {
  /** -1 lets the server choose a free one. */
  readonly port: number;
  readonly storeDir: string;
  readonly portsDir: string;
  readonly logFile: string;
  /** What the store may hold, in bytes. Left out, the server takes three quarters of what is free now, for all that it holds. */
  readonly storeBytesMax?: number;
  /** True: every write is on the disk before it is acked. Default of the server: within two minutes. */
  readonly syncAlways: boolean;
  /** More lines in the server's own language, at the end. */
  readonly extra: string;
}

const logBytesMax = 8 * 1024 * 1024;
const logFilesMax = 3;

/** The file's text. Paths are quoted, so blanks in them do no harm. */
export const renderServerConfig = (config: ServerConfig): string =>
  [
    `host: "127.0.0.1"`,
    `port: ${config.port}`,
    `ports_file_dir: ${JSON.stringify(config.portsDir)}`,
    `log_file: ${JSON.stringify(config.logFile)}`,
    `logfile_size_limit: ${logBytesMax}`,
    `logfile_max_num: ${logFilesMax}`,
    `jetstream {`,
    `  store_dir: ${JSON.stringify(config.storeDir)}`,
    ...(config.storeBytesMax === undefined ? [] : [`  max_file_store: ${config.storeBytesMax}`]),
    ...(config.syncAlways ? [`  sync_interval: always`] : []),
    `}`,
    config.extra,
    ``,
  ].join("\n");
