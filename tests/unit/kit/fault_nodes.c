/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_nodes.h"

#include "peers/book_file.h"
#include "peers/table.h"
#include "shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

uint64_t fault_nodes_size(uint32_t chunk)
{
	return chunk ? FN_SMALL : FN_LARGE;
}

/* ---- The servers ------------------------------------------------------ */

static void write_chunks(struct fault_nodes *f)
{
	uint64_t x = 88172645463325252u;

	assert_non_null(tmp_folder(f->folder, sizeof f->folder, "nodes"));
	for (uint32_t c = 0; c < FN_CHUNKS; c++) {
		const uint64_t n = fault_nodes_size(c);
		char name[TMP_NAME + 16];
		FILE *to;

		f->bytes[c] = malloc(n);
		assert_non_null(f->bytes[c]);
		for (uint64_t i = 0; i < n; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			f->bytes[c][i] = (uint8_t)x;
		}
		snprintf(name, sizeof name, "%s/%u", f->folder, c);
		to = fopen(name, "wb");
		assert_non_null(to);
		assert_int_equal(fwrite(f->bytes[c], 1, n, to), n);
		assert_int_equal(fclose(to), 0);
	}
}

static uint32_t next_base;

/* 127.x.y.N, so that tests do not meet. */
static void address(const struct fault_nodes *f, uint32_t node, uint8_t four[4])
{
	const unsigned pid = (unsigned)getpid();

	four[0] = 127;
	four[1] = (uint8_t)(1 + pid / 256 % 254);
	four[2] = (uint8_t)(pid % 256);
	four[3] = (uint8_t)(f->base + node + 1);
}

void fault_nodes_book(struct fault_nodes *f, uint32_t n, uint32_t parts)
{
	f->head = (struct hp_book_head){
		.made = 1, .nodes = n, .node = 0, .parts = parts, .job = "test"
	};
	/* as vectors.py has them */
	for (int i = 0; i < 32; i++)
		f->head.secret[i] = (uint8_t)i;
	for (int i = 0; i < 16; i++) {
		f->head.id[i] = (uint8_t)(0x10 + i);
		f->head.pack[i] = (uint8_t)(0x20 + i);
	}
	f->head.port = hp_book_port(f->head.secret);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t four[4];

		snprintf(f->host[i], sizeof f->host[i], "n%u", i);
		f->node[i] = (struct hp_book_node){ .host = f->host[i],
						    .addresses = 1 };
		address(f, i, four);
		hp_book_ipv4(four, f->node[i].address[0].ip);
	}
}

static void start(struct fault_nodes *f, char **argv)
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (!f->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		unsetenv("LD_PRELOAD");
		execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	f->to = fdopen(to[1], "w");
	f->from = fdopen(from[0], "r");
	assert_non_null(f->to);
	assert_non_null(f->from);
}

static void expect(struct fault_nodes *f, const char *what)
{
	char line[64] = "";

	assert_non_null(fgets(line, sizeof line, f->from));
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, what);
}

void fault_nodes_start(struct fault_nodes *f, uint32_t n, uint32_t parts)
{
	const char *src = getenv("SRC");
	char python[] = "python3", program[256], port[8], ip[FN_NODES][16];
	char *argv[FN_NODES + 5] = { python, program, f->folder, port };

	*f = (struct fault_nodes){ .base = next_base };
	next_base += n;
	write_chunks(f);
	fault_nodes_book(f, n, parts);
	snprintf(program, sizeof program, "%s/tests/peers/fault_server.py",
		 src ? src : ".");
	snprintf(port, sizeof port, "%u", f->head.port);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t four[4];

		address(f, i, four);
		snprintf(ip[i], sizeof ip[i], "%u.%u.%u.%u", four[0], four[1],
			 four[2], four[3]);
		argv[4 + i] = ip[i];
	}
	start(f, argv);
	expect(f, "ready");
}

void fault_nodes_stop(struct fault_nodes *f)
{
	fclose(f->to);
	fclose(f->from);
	waitpid(f->pid, NULL, 0);
	run("rm -rf %s", f->folder);
	for (int i = 0; i < FN_CHUNKS; i++)
		free(f->bytes[i]);
}

void fault_nodes_tell(struct fault_nodes *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(f->to, fmt, ap);
	va_end(ap);
	fputc('\n', f->to);
	fflush(f->to);
	expect(f, "ok");
}

void fault_nodes_asked(struct fault_nodes *f, uint32_t node, unsigned *ret,
		       unsigned *ret_adopt)
{
	char line[64] = "";

	fprintf(f->to, "asked %u\n", node);
	fflush(f->to);
	assert_non_null(fgets(line, sizeof line, f->from));
	assert_int_equal(sscanf(line, "%u %u", ret, ret_adopt), 2);
}

/* ---- Their book, and who reads ---------------------------------------- */

static bool form(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		 struct hp_client_form *ret)
{
	(void)arg;
	if (kind != HP_ASK_PLAIN)
		return false;
	ret->size = fault_nodes_size(chunk);
	memset(ret->digest, (int)chunk, sizeof ret->digest);
	return true;
}

struct hp_client_facts fault_nodes_facts(const struct fault_nodes *f)
{
	return (struct hp_client_facts){ .pack = f->head.pack,
					 .chunks = FN_CHUNKS,
					 .form = form };
}

struct hp_client *fault_nodes_client(struct fault_nodes *f)
{
	const struct hp_client_facts facts = fault_nodes_facts(f);
	struct hp_table_file table = { 0 };
	struct hp_client *c = NULL;
	struct hpdsl_error err;
	int dir;

	assert_non_null(tmp_folder(f->stage, sizeof f->stage, "stage"));
	dir = open(f->stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(hp_book_save(&hp_io_system, dir, f->stage, &f->head,
				      f->node, &err),
			 0);
	assert_int_equal(hp_table_make(&hp_io_system, dir, f->stage, &f->head,
				       &table, &err),
			 0);
	hp_table_leave(&table);
	assert_int_equal(
		hp_client_open(&hp_io_system, dir, f->stage, &facts, &c, &err),
		0);
	assert_non_null(c);
	close(dir);
	return c;
}

void fault_nodes_close(struct fault_nodes *f, struct hp_client *c)
{
	hp_client_close(c);
	run("rm -rf %s", f->stage);
}
