#!/usr/bin/env python3
"""Writes the kept inputs of the fuzz targets: make_corpus.py [FOLDER] (default: corpus beside it).

What each byte means is at the head of each target. Inputs that found something are not made
here: they lie in regress/, as they were found.
"""
import os
import struct
import sys
import zlib

top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus")


def put(target, name, data):
    os.makedirs(os.path.join(top, target), exist_ok=True)
    with open(os.path.join(top, target, name), "wb") as out:
        out.write(data)


# ---- segment: kinds are indices of the table in put_cell()
LAUNCH, CALL, KERNEL, COPY, SYNC, OVERHEAD, CONTEXT, LINK, CLOCK = range(9)


def cell(kind, payload, count=1):
    ring = 0 if kind in (LAUNCH, CALL) else 1
    return struct.pack("<BBHBB", ring, kind, count, len(payload), len(payload)) + payload


def launch(seq, entry, grid=(1000, 1, 1), result=0, flags=0):
    return cell(LAUNCH, struct.pack("<5Q3I3IIiIIHH", seq, entry, entry + 800, 7, 0xF00, *grid,
                                    256, 1, 1, 0, result, 42, 9, 1, flags))


def kernel(correlation, start, name=1, graph=0, device=0):
    # by size, not by field: what matters is that it passes as a kernel
    body = struct.pack("<QQQIIIIIII3I3H", start, start + 10000, graph, correlation, 1, 7, name,
                       1000, 1, 1, 256, 1, 1, 1, 1, 1)
    return cell(KERNEL, body.ljust(112, b"\0"))


def link(*pairs):
    body = b"".join(struct.pack("<QQII", start, start + 50, corr, 9) for corr, start in pairs)
    return cell(LINK, body[:112], len(pairs))


def name(text):
    return struct.pack("<BB", 3, len(text)) + text


def round_(tenths=2):
    return struct.pack("<BB", 5, tenths)


def counter(offset, value):
    return struct.pack("<BHQ", 4, offset, value)


def patch(offset, data):
    return struct.pack("<B", 2) + offset.to_bytes(3, "little") + bytes([len(data)]) + data


now = 10**15
some = b"".join(launch(i, now + 1000 * i) for i in range(5))
put("segment", "launches", b"\0" + name(b"_Z4tailPf") + some + round_() +
    b"".join(link((i + 1, now + 1000 * i + 500)) + kernel(i + 1, now + 1000 * i + 5000)
             for i in range(5)) + round_(20))
put("segment", "dead", b"\1" + some + b"\6\0\3" + b"\6\1\2" + kernel(1, now) + round_())
put("segment", "cut", b"\2" + some + round_(5) + some)
put("segment", "cut-more", b"\6" + some + round_(5) + some)
put("segment", "kinds", b"\0" + b"".join(
    cell(k, bytes(range(112))) for k in range(LAUNCH, CLOCK + 1)) + round_() +
    cell(LINK, bytes(range(112)), 4) + cell(LINK, bytes(range(112)), 0xFFFF))
put("segment", "counters", b"\0" + counter(0, 2**63) + round_() + counter(64, 1) + some)
put("segment", "tails", b"\0" + some + round_() + counter(0, 3) + round_())
put("segment", "header", b"\0" + patch(0, struct.pack("<Q", 1)) + round_() +
    patch(40, struct.pack("<Q", 2**64 - 65536)) + round_())
put("segment", "texts", b"\0" + patch(200, b"\xff\xfe\x1b[31m'\"") + some + round_())
put("segment", "raw", b"\x80" + b"WAVETAP\0" + bytes(300))
put("segment", "devices", b"\0" + patch(65536 + 4096, bytes(255)) + some + kernel(1, now) +
    kernel(2, now, device=7) + round_(30))

# ---- control: (how, length, message)
SAMPLE, GPU_STATE, PROFILE = range(12, 15)


def sample(start, *values):
    return struct.pack("<QII7f12x", start, 50000, 99000, *(values + (0.0,) * 7)[:7])


def profile(seq, total):
    return cell(PROFILE, struct.pack("<QQQ7dQHHI16x", seq, now, now + 9, total, 1, 2, 3, 4, -1, 6, 7,
                                     0, 132, 1))


samples = b"".join(cell(SAMPLE, sample(now + 100000 * i, 5e4, 1.0, 9e4, 7.0) +
                        sample(now + 100000 * i + 50000, 6e4), 2) for i in range(5))
put("segment", "sampler", b"\x08" + samples + round_(20) + samples + round_() +
    cell(GPU_STATE, struct.pack("<QQ7I68x", now, 4, 1980, 0, 7, 0, 2, 9, 1)) + round_(20))
put("segment", "sampler-bad", b"\x09" + cell(SAMPLE, sample(now, float("nan"))) + kernel(1, now) +
    cell(SAMPLE, sample(1 << 63, 1.0)) + samples + b"\6\1\2" + round_(20))
put("segment", "profiles", b"\0" + some + profile(1, 1e6) + profile(1, 1e6) +
    profile(2, float("inf")) + round_(20))


def say(message, how=0x7F):
    return struct.pack("<BH", how, len(message)) + message


put("control", "status", say(b"status\n"))
put("control", "slowly", say(b"status\n", 0) + say(b"drain a b 100\n", 2))
put("control", "drain", say(b"drain fuzz 0\n") + say(b"drain fuzz 99999999\n") + say(b"drain x\n"))
put("control", "drain-long", say(b"drain " + b"k" * 300 + b" 10\n"))
put("control", "half", say(b"stat", 0x80) + say(b"\n") + say(b"\0status\n"))
put("control", "long", say(b"x" * 1100))
put("control", "stop", say(b"stop\n") + say(b"status\nstatus\n"))

# ---- status
reply = (b'{"version":"9","pid":12,"uptime_s":3,"processes":[{"pid":7,"state":"live",'
         b'"capture":"full","reason":null,"stalled":true,"launches_attempted":1000,'
         b'"launches_dropped":3,"kernels_stored":5,"kernels_dropped":4,"rings":[{"cells":10,'
         b'"used":5},{"cells":10,"used":2}],"command":"app -x"}],"runs":[{"path":"/r.db",'
         b'"store":{"error":"disk full"}}],"refused":[{"segment":"s","reason":"too new"}]}')
put("status", "text", b"\0" + reply + b"\n")
put("status", "json", b"\1" + reply + b"\n")
put("status", "half", b"\1" + reply[:200])
put("status", "error", b"\0error no memory\n")
put("status", "types", b"\0" + b'{"version":{},"pid":"x","processes":{"a":1},"runs":[7],"refused":null}')
put("status", "empty", b"\0{}")
put("status", "nothing", b"\0")
put("status", "deep", b"\0" + b'{"processes":' + b"[" * 600)

# ---- options: arguments with a NUL after each
def line(*words):
    return b"".join(word.encode() + b"\0" for word in words)


put("options", "top", line("top", "--by", "tail-idle", "--group=config", "-n", "3", "--json"))
put("options", "top-columns", line("top", "--columns", "lost,n,us,kernel", "--limit", "0"))
put("options", "top-help", line("top", "--columns=help"))
put("options", "latest", line("top", "-r", "latest~18446744073709551617"))
put("options", "latest-1", line("top", "-rlatest~1", "--csv"))
put("options", "file", line("top", "-r", "./no/such.db"))
put("options", "run", line("run", "--name", "a", "--tag", "k=v", "-q", "--", "true", "-x"))
put("options", "export", line("export", "-o", "x.json", "--format", "csv", "--force"))
put("options", "short", line("top", "-b", "wave", "-gconfig", "--dev", "1", "--full"))
put("options", "simulate", line("simulate", "--sms", "132", "--blocks-per-sm", "2", "--grid", "300:9:3"))
put("options", "gaps", line("gaps", "--by", "cause", "--json"))
put("options", "many", line("run", *["--tag=%d=x" % i for i in range(20)]))
put("options", "help", line("help", "top") )
put("options", "list", line("--list-options", "status"))
put("options", "runs", line("runs", "--json"))
put("options", "status", line("status", "--js"))
put("options", "number", line("top", "--limit", "9223372036854775808"))
put("options", "odd", line("top", "--", "-", "\x1b[31m", ""))

# ---- kernel_name: a name a line
names = [
    "_Z4tailPf", "triton_poi_fused_add_0", "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIf"
    "NS0_9MeanOpsIfffEEjfLi4EEEEEvT1_", "_ZN7cutlass6KernelI4FlashEEvNT_6ParamsE",
    "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", "_ZN5flash24flash_fwd_splitkv_kernelI23Flash_"
    "fwd_kernel_traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi128"
    "ELi64ELi128ELi4ES3_EELb0ELb0ELb0ELb0ELb1ELb0ELb1ELb0EEEvNS_16Flash_fwd_paramsE",
    "void (anonymous namespace)::f<int, float>(int*)", "cudnn_generated_fort_native_sdpa_sm90_"
    "flash_fprop_wgmma_f16_knob_3_64x128x64_4x1x1_cga1x1x1_kernel0_0",
    "_ZN12_GLOBAL__N_11fIiEEvT_", "_ZZN2at6nativeEvENKUlvE0_clEvENKUlfE_", "a::b<c<d>>::e", "<<>>",
    "_ZN1aIXadL_Z1bvEEE1cEv", "_ZSt4moveIRKSsEONSt16remove_referenceIT_E4typeEOS3_",
]
put("kernel_name", "all", "\n".join(names).encode())
for i, each in enumerate(names):
    put("kernel_name", "name-%02d" % i, each.encode())
put("kernel_name", "same", b"_ZN12_GLOBAL__N_11fEv\n_ZN12_GLOBAL__N_11fEv\nf\nf#2\nf")
put("kernel_name", "nested", b"_Z1f" + b"P" * 300 + b"i")
put("kernel_name", "bytes", b"\xff\xfe\x1b[31m\xe2\x80\xae x")

# ---- run_file
def sql(*statements):
    return b"".join(struct.pack("<BB", 0, len(s)) + s.encode() for s in statements)


def overwrite(offset, data):
    return b"\1" + offset.to_bytes(3, "little") + bytes([len(data)]) + data


for how in range(13):
    put("run_file", "sound-%d" % how, bytes([how]))
put("run_file", "no-rows", b"\0" + sql("DELETE FROM kernel_exec", "DELETE FROM config_stat"))
put("run_file", "no-table", b"\0" + sql("DROP TABLE proc"))
put("run_file", "no-view", b"\1" + sql("DROP VIEW loss"))
put("run_file", "other-view", b"\3" + sql(
    "DROP VIEW loss", "CREATE VIEW loss AS SELECT 1"))
put("run_file", "large", b"\0" + sql(
    "UPDATE config_stat SET time_ns=9223372036854775807,wave_sm_ns=9223372036854775807"))
put("run_file", "negative", b"\1" + sql("UPDATE kernel_exec SET end_ns=-9223372036854775808",
                                      "UPDATE gpu SET sm_count=0"))
put("run_file", "shares", b"\0" + sql(
    "INSERT INTO kernel_share SELECT exec_id,9223372036854775807,-1,9223372036854775807,-9223372036854775808,1,1,1 "
    "FROM kernel_exec", "UPDATE config SET sm_count=2147483647",
    "INSERT INTO sweep SELECT device_id,-9223372036854775808,-1,9223372036854775807,-5,7 FROM gpu"))
put("run_file", "no-sweep", b"\0" + sql("DROP TABLE sweep"))
put("run_file", "version-1", b"\2" + sql("PRAGMA user_version=1"))
put("run_file", "no-sms", b"\0" + sql("UPDATE gpu SET sm_count=0"))
put("run_file", "meta", b"\3" + sql("DELETE FROM meta"))
put("run_file", "names", b"\2" + sql("UPDATE kernel SET name=''", "UPDATE gpu SET name=x'ff1b'"))
put("run_file", "loose", b"\0" + sql(
    "PRAGMA writable_schema=1",
    "UPDATE sqlite_schema SET sql=replace(sql,'STRICT','') WHERE type='table'"))
put("run_file", "no-name", b"\2" + sql(
    "PRAGMA writable_schema=1",
    "UPDATE sqlite_schema SET sql=replace(replace(sql,'STRICT',''),'NOT NULL','')",
    "UPDATE kernel SET name=NULL"))
put("run_file", "null-meta", b"\3" + sql(
    "DROP TABLE meta", "CREATE TABLE meta(key,value)", "INSERT INTO meta VALUES('run_id',NULL)"))
put("run_file", "version", b"\0" + sql("PRAGMA user_version=99"))
put("run_file", "page", b"\0" + overwrite(512, bytes(40)))
put("run_file", "head", b"\0" + overwrite(16, b"\xff\xff"))
put("run_file", "raw", b"\x80SQLite format 3\0" + bytes(84))
put("run_file", "endless", b"\1" + sql(
    "DROP VIEW kernel_idle",
    "CREATE VIEW kernel_idle AS WITH r(a) AS (SELECT 1 UNION ALL SELECT a+1 FROM r) SELECT * FROM r"))

# ---- recording: the file as it is, and imported; the start of one that is cut
data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "sim-demo.wtrec")
with open(data, "rb") as recorded:
    recording = recorded.read()
put("recording", "whole", b"\x02" + recording[:4000])
put("recording", "cut", b"\x00" + recording[:200])

put("run_file", "packed", b"\x46" + sql("UPDATE chunk SET data=substr(data,1,40) WHERE chunk_id=1"))
put("run_file", "packed-lies", b"\x44" + sql("UPDATE chunk SET first_id=first_id-5,last_id=9223372036854775807",
    "UPDATE chunk SET row_count=-1 WHERE kind=2"))
put("run_file", "packed-kinds", b"\x48" + sql("UPDATE chunk SET kind=1+kind%4", "UPDATE chunk SET device_id=NULL"))
put("run_file", "packed-twice", b"\x47" + sql(
    "INSERT INTO chunk SELECT chunk_id+9,kind,process_id,device_id,first_id,last_id,row_count,start_ns,end_ns,configs,data "
    "FROM chunk"))
put("run_file", "packed-times", b"\x4b" + sql("UPDATE chunk SET start_ns=NULL,end_ns=5", "UPDATE chunk SET configs=x'80'"))

# ---- chunk: rows that are packed, then changed with a checksum that holds; a chunk as it is
for kind in range(4):
    put("chunk", "rows-%d" % kind, bytes([kind, 40]) + bytes(range(1, 120)) + b"\x09\0\3\x0c\0\1\x20\0\xff")
put("chunk", "raw", b"\5\1\1\1\0\0\0\0\0" + bytes(18))
put("chunk", "sealed", b"\x0c\1\1\1\0\0\0\0\0\1" + bytes([3] * 15) + bytes(range(60)))

# ---- samples: columns with a sound head, and a chunk as it lies in a run file
put("samples", "columns", b"\0\7\x04" + bytes([0, 0, 0, 1, 0, 3, 2, 0, 1, 1]) + bytes(range(200)))
put("samples", "chunk", b"\1\1\1\1" + bytes([4, 4, 4, 0, 0, 0, 0, 0, 0, 0]) + zlib.compress(bytes(44)))
put("samples", "cut", b"\1\1\xff\xff\x03\1")
