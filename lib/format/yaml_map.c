/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, YAML or JSON, that are one mapping. */
#include "format/yaml_reader.h"

#include "base/error.h"

#include <ctype.h>

int hp_yaml_real(struct hp_yaml_reader *r, void *into)
{
	double v = 0, scale = 1;
	bool point = false;
	const yaml_char_t *s;
	size_t n, digits = 0;

	if (r->ev.type != YAML_SCALAR_EVENT)
		return hp_yaml_bad(r, "a number was expected");
	s = r->ev.data.scalar.value;
	n = r->ev.data.scalar.length;
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '.' && !point && digits) {
			point = true;
		} else if (isdigit(s[i]) && digits < 300) {
			v = v * 10 + (s[i] - '0');
			scale *= point ? 10 : 1;
			digits++;
		} else {
			return hp_yaml_bad(r, "not a number");
		}
	}
	if (!digits)
		return hp_yaml_bad(r, "not a number");
	*(double *)into = v / scale;
	return 0;
}

static int expect(struct hp_yaml_reader *r, yaml_event_type_t type)
{
	int k = hp_yaml_next(r);

	if (k == 0 && r->ev.type != type)
		k = hp_yaml_bad(r, "one mapping was expected");
	return k;
}

int hp_yaml_document(struct hp_yaml_reader *r, const struct hp_yaml_field *f,
		     size_t n, void *base, uint32_t *ret_seen)
{
	int k = expect(r, YAML_STREAM_START_EVENT);

	if (k == 0)
		k = expect(r, YAML_DOCUMENT_START_EVENT);
	if (k == 0)
		k = hp_yaml_next(r);
	if (k == 0)
		k = hp_yaml_fields(r, f, n, base, ret_seen);
	if (k == 0)
		k = expect(r, YAML_DOCUMENT_END_EVENT);
	return k ? k : expect(r, YAML_STREAM_END_EVENT);
}

int hp_yaml_map(struct hp_yaml_map *m, const char *text, size_t size,
		void *base, struct hpdsl_error *err)
{
	struct hp_yaml_reader r = { .name = m->name, .map = m, .err = err };
	int k;

	if (!yaml_parser_initialize(&r.yaml))
		return hp_fail_nomem(err);
	yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text,
				     size);
	k = hp_yaml_document(&r, m->field, m->n, base, &m->seen);
	yaml_event_delete(&r.ev);
	yaml_parser_delete(&r.yaml);
	return k;
}
